import json
cases=json.load(open('wcases.json')); rec=json.load(open('out/wire.json'))
H=__import__('os').path.join(__import__('os').path.dirname(__import__('os').path.abspath(__file__)),'..','')
base=cases[0]['preset']; 
base['openrouter_middleout']='on'
common={k:v for k,v in base.items() if k not in('chat_completion_source','openai_model')}
open(H+'files/presets/TR Wire.json','w').write(json.dumps(common,indent=1)+'\n')
out=[]
for c in cases:
    r=rec[c['name']]
    if not r.get("wire") or (c["source"]=="pollinations" and c["preset"]["seed"]<0): continue
    if c["source"]=="claude" and c["type"]=="impersonate": continue  # its beginning is set by the build
    w=r["wire"][0]
    url=w['url']
    ov={k:v for k,v in c['preset'].items() if common.get(k)!=v or k not in common}
    inp=dict(preset={'$file':'files/presets/TR Wire.json',**ov},messages=c['messages'])
    if c['type']!='normal': inp['type']=c['type']
    if c['stops']: inp['stop']=c['stops']
    if 'google' in url: inp['key']='not-a-key'
    if c.get('tools'): inp['tools']=c['tools']
    if c.get('logprobs'): inp['logprobs']=5
    out.append(dict(name=c['name'].replace('/',' ').replace('@',''),about=c.get('about') or f"The request to {c['source']} for {c['model']}: {c['name'].split('/')[-1]}.",source='SillyTavern 1.19.0: createGenerationParameters() of the page, then POST /api/backends/chat-completions/generate',kind='sillytavern-chat-request',input=inp,expected=dict(url=url,body=w['body'])))
open(H+'requests.json','w').write('[\n'+',\n'.join(json.dumps(c,ensure_ascii=False,separators=(',',':')) for c in out)+'\n]\n')
print(len(out))
