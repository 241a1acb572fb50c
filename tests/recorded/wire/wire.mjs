import fs from 'fs'; import http from 'http'; import { launch, open } from './boot.mjs';
const list=[]; http.createServer((q, r) => { let b=''; q.on('data', d=>b+=d); q.on('end', ()=>{
  if (q.method==='POST') { try { list.push({ url: q.headers['x-original'] ?? q.url, body: JSON.parse(b) }); } catch { list.push({url:q.url, raw:b}); } }
  r.setHeader('content-type','application/json'); r.end(JSON.stringify({ id:'x', choices:[{ index:0, text:'ok', message:{role:'assistant',content:'ok'}, finish_reason:'stop' }], content:[{type:'text',text:'ok'}], candidates:[{content:{parts:[{text:'ok'}],role:'model'}}], message:{content:[{text:'ok'}]} }));
});}).listen(9931,'127.0.0.1');
const cases=JSON.parse(fs.readFileSync(process.argv[2])); const b=await launch(); const {p,errs}=await open(b);
const out={};
await p.evaluate(async(keys)=>{ for (const k of keys) await fetch('/api/secrets/write',{method:'POST',headers:{'content-type':'application/json'},body:JSON.stringify({key:k,value:'not-a-key',label:'t'})}); },
 ['openai','claude','openrouter','ai21','makersuite','vertexai','mistralai','custom','cohere','perplexity','groq','chutes','electronhub','nanogpt','deepseek','aimlapi','xai','fireworks','minimax','moonshot','cometapi','azure_openai','zai','siliconflow','pollinations','workers_ai'].map(x=>'api_key_'+x));
for (const c of cases) {
  list.length=0;
  const r = await p.evaluate(async(c)=>{
    const O=await import('/scripts/openai.js'), PU=await import('/scripts/power-user.js'), S=await import('/script.js');
    PU.power_user.custom_stopping_strings = JSON.stringify(c.stops??[]); PU.power_user.custom_stopping_strings_macro=false;
    const s=O.oai_settings;
    if (!globalThis.__base) globalThis.__base=structuredClone(s);
    for (const k of Object.keys(s)) delete s[k]; Object.assign(s, structuredClone(globalThis.__base));
    for (const [k,v] of Object.entries(c.preset)) { const t=O.settingsToUpdate[k]; s[t?t[1]:k]=v; }
    s.chat_completion_source=c.source; 
    try { const g=await O.createGenerationParameters(s, c.model, c.type??'normal', structuredClone(c.messages)); const body=g.generate_data; const plain=JSON.parse(JSON.stringify(body));
      const ctl=new AbortController(); setTimeout(()=>ctl.abort(), 3000);
      let ans; try { const x=await fetch('/api/backends/chat-completions/generate',{method:'POST',headers:{'content-type':'application/json'},body:JSON.stringify(body),signal:ctl.signal}); ans=(await x.text()).slice(0,200);} catch(e){ans=String(e)}
      return {body:plain, ans};
    } catch(e) { return {error:String(e)}; }
  }, c);
  await new Promise(r=>setTimeout(r,20));
  r.wire=structuredClone(list); out[c.name]=r;
}
fs.writeFileSync(process.argv[3], JSON.stringify(out,null,1)); await b.close(); process.exit(0);
