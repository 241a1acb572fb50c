import json
MSG=[{"role":"system","content":"Write the next reply."},{"role":"system","content":"Mara keeps the lighthouse."},{"role":"user","content":"Is the lamp lit?"},{"role":"assistant","content":"It burns."},{"role":"user","content":"Then we land."}]
A=dict(temperature=0.83,frequency_penalty=0.31,presence_penalty=-0.27,top_p=0.94,top_k=37,top_a=0.12,min_p=0.04,repetition_penalty=1.07,openai_max_tokens=1900,openai_max_context=16000,stream_openai=False,seed=4242,n=1,reasoning_effort="medium",verbosity="low",show_thoughts=True,use_sysprompt=True,assistant_prefill="",enable_web_search=False,request_images=False,squash_system_messages=False,names_behavior=0)
Z=dict(A,temperature=0,frequency_penalty=0,presence_penalty=0,top_p=1,top_k=0,top_a=0,min_p=0,repetition_penalty=1,seed=-1,n=1,reasoning_effort="auto",verbosity="auto",show_thoughts=False,stream_openai=True,use_sysprompt=False)
X=dict(A,temperature=2,frequency_penalty=2,presence_penalty=2,top_p=0,top_k=200,seed=0,n=3,reasoning_effort="min",verbosity="high",show_thoughts=False)
Y=dict(A,top_p=1,top_k=-1,n=2,stream_openai=True,reasoning_effort="max",show_thoughts=True,seed=1)
models={
'openai':['gpt-4o','o1','o1-mini','o3-mini','o4-mini','gpt-5','gpt-5.1','gpt-5.4','gpt-5.6','gpt-5-chat-latest','gpt-5-nano','gpt-4-vision-preview','gpt-4.5-preview','gpt-3.5-turbo-instruct','gpt-6-astra'],
'azure_openai':['gpt-4o','gpt-5','o3'],
'claude':['claude-3-5-sonnet-20240620','claude-sonnet-4-5','claude-opus-4-1','claude-opus-4-6','claude-opus-4-7','claude-opus-5','claude-fable-5'],
'openrouter':['anthropic/claude-3.5-sonnet','openai/o3-mini','openai/gpt-5','openai/o1','google/gemini-2.5-pro','meta-llama/llama-3-70b','openai/gpt-5.2','anthropic/claude-opus-5'],
'ai21':['jamba-large'],'makersuite':['gemini-2.5-pro','gemini-2.5-flash','gemini-1.5-pro','gemini-3-pro-preview','gemma-3-27b-it'],
'mistralai':['mistral-large-latest'],'custom':['some-model','gpt-5','koboldcpp/x','claude-opus-5'],'cohere':['command-r-plus','command-r-08-2024'],
'perplexity':['sonar-pro'],'groq':['llama-3.3-70b'],'electronhub':['gpt-4o'],'chutes':['deepseek-ai/DeepSeek-V3'],'nanogpt':['gpt-4o'],
'deepseek':['deepseek-chat','deepseek-reasoner'],'aimlapi':['gpt-4o'],'xai':['grok-3','grok-3-mini','grok-4','grok-4-fast-non-reasoning','grok-code-fast-1'],
'pollinations':['openai'],'moonshot':['kimi-k2','kimi-k2.5'],'fireworks':['accounts/fireworks/models/x'],'cometapi':['gpt-4o'],'zai':['glm-4.6'],'siliconflow':['Qwen/Qwen3'],'workers_ai':['@cf/meta/llama'],'minimax':['MiniMax-M2']}
field={'makersuite':'google_model'}
cases=[]
stops=["\nAlex:","\nMara:","###","[END]","a stop string that is long","<eot>","6","7"]
for s,ms in models.items():
    for i,m in enumerate(ms):
        for tag,P in [('given',A),('off',Z),('far',X),('more',Y)]:
            if i>0 and tag=='more' and s not in('openai','claude'): continue
            P=dict(P); P['chat_completion_source']=s; P[field.get(s,s+'_model')]=m
            if s=='custom': P['custom_url']='https://models.example/v1'
            if s=='azure_openai': P.update(azure_base_url='https://res.openai.azure.com',azure_deployment_name='dep',azure_api_version='2024-10-21')
            if s=='workers_ai': P['workers_ai_account_id']='acct'
            st=stops if tag in('given','far') else []
            cases.append(dict(name=f'{s}/{m}/{tag}',source=s,model=m,preset=P,stops=st,messages=MSG,type='normal'))
        if i==0:
            for t in ('quiet','impersonate','continue'):
                P=dict(Y); P['chat_completion_source']=s; P[field.get(s,s+'_model')]=m; P['assistant_prefill']='Pre '; P['assistant_impersonation']='Imp'; P['continue_prefill']= t=='continue'
                if s=='custom': P['custom_url']='https://models.example/v1'
                if s=='azure_openai': P.update(azure_base_url='https://res.openai.azure.com',azure_deployment_name='dep',azure_api_version='2024-10-21')
                if s=='workers_ai': P['workers_ai_account_id']='acct'
                cases.append(dict(name=f'{s}/{m}/{t}',source=s,model=m,preset=P,stops=[],messages=MSG,type=t))
json.dump(cases,open('wcases.json','w'))
print(len(cases))
PNG="data:image/png;base64,iVBORw0KGgo="
call=[{"id":"call_1","type":"function","function":{"name":"tide","arguments":"{\"hour\":6}"}}]
V={
 'empty beside calls':[{"role":"system","content":"Main."},{"role":"user","content":"When is the tide?"},{"role":"assistant","content":"","tool_calls":call},{"role":"tool","content":"At six.","tool_call_id":"call_1"},{"role":"user","content":"Thanks."}],
 'no content beside calls':[{"role":"system","content":"Main."},{"role":"user","content":"When is the tide?"},{"role":"assistant","tool_calls":call},{"role":"tool","content":"At six.","tool_call_id":"call_1"},{"role":"user","content":"Thanks."}],
 'text beside calls':[{"role":"system","content":"Main."},{"role":"user","content":"When is the tide?"},{"role":"assistant","content":"I look.","tool_calls":call},{"role":"tool","content":"At six.","tool_call_id":"call_1"},{"role":"user","content":"Thanks."}],
 'signature':[{"role":"system","content":"Main."},{"role":"user","content":"One."},{"role":"assistant","content":"Two.","signature":"c2ln"},{"role":"user","content":"Three."}],
 'parts':[{"role":"system","content":"Main."},{"role":"user","content":[{"type":"text","text":"Look."},{"type":"image_url","image_url":{"url":PNG,"detail":"auto"}}]},{"role":"assistant","content":"A lamp."},{"role":"user","content":"Yes."}],
}
more=[]
for s,m in [('openai','gpt-4o'),('openai','gpt-3.5-turbo-instruct'),('azure_openai','gpt-4o'),('claude','claude-3-5-sonnet-20240620'),('custom','some-model'),('openrouter','meta-llama/llama-3-70b'),('openrouter','anthropic/claude-3.5-sonnet'),('makersuite','gemini-2.5-pro'),('mistralai','mistral-large-latest'),('cohere','command-r-plus'),('deepseek','deepseek-chat'),('xai','grok-3'),('ai21','jamba-large'),('groq','llama-3.3-70b'),('moonshot','kimi-k2')]:
    for k,ms in V.items():
        P=dict(A); P['chat_completion_source']=s; P[field.get(s,s+'_model')]=m
        if s=='custom': P['custom_url']='https://models.example/v1'
        if s=='azure_openai': P.update(azure_base_url='https://res.openai.azure.com',azure_deployment_name='dep',azure_api_version='2024-10-21')
        more.append(dict(name=f'{s}/{m}/{k}',source=s,model=m,preset=P,stops=[],messages=ms,type='normal',about=f"The request to {s} for {m}: {k}."))
for s,m in [('openai','gpt-4o'),('custom','some-model'),('claude','claude-3-5-sonnet-20240620'),('makersuite','gemini-2.5-pro'),('cohere','command-r-plus')]:
    P=dict(A,openai_max_tokens=0); P['chat_completion_source']=s; P[field.get(s,s+'_model')]=m
    if s=='custom': P['custom_url']='https://models.example/v1'
    more.append(dict(name=f'{s}/{m}/length 0',source=s,model=m,preset=P,stops=[],messages=MSG,type='normal',about=f"The request to {s} with a length of 0."))
json.dump(cases+more,open('wcases.json','w')); print(len(cases+more))
