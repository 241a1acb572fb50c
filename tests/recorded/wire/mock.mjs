// loaded before ST's server: every outgoing https request goes to the mock on 9931, with its original address in a header
import https from 'node:https'; import http from 'node:http';
https.request = function (u, o, cb) {
  if (typeof u === "string") u = new URL(u); else if (!(u instanceof URL) && u.href) { o = u; u = new URL(u.href); }
  const url = (u instanceof URL) ? u : new URL(`https://${u.hostname ?? u.host}${u.port?':'+u.port:''}${u.path ?? '/'}`);
  const opt = { ...(u instanceof URL ? o : u) };
  for (const k of ['agent','protocol','servername','host','hostname','port','path','href']) delete opt[k];
  const h = opt.headers ?? {}; 
  return http.request({ ...opt, headers: { ...h, 'x-original': url.href }, hostname:'127.0.0.1', port:9931, path: url.pathname+url.search, method: opt.method }, typeof o==='function'?o:cb);
};
https.get = (...a)=>{ const r=https.request(...a); r.end(); return r; };
