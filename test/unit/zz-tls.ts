import tls from "node:tls"; import net from "node:net";
import { makeCertificate } from "./deliver-certificate.ts";
if (!("toBase64" in Uint8Array.prototype)) Object.defineProperty(Uint8Array.prototype,"toBase64",{value(){return btoa(String.fromCharCode(...this))}});
async function serve(cert){ const l=Deno.listenTls({hostname:"127.0.0.1",port:0,...cert}); (async()=>{for await (const c of l){ c.handshake?.().catch(()=>{}); c.write(new TextEncoder().encode("hi")).catch(()=>{}) }})().catch(()=>{}); return l.addr.port }
const good=await makeCertificate("hooks.test"), exp=await makeCertificate("hooks.test","20210101000000Z"), other=await makeCertificate("other.test");
function tryIt(label, port, ca, host="hooks.test"){ return new Promise(r=>{ const t=setTimeout(()=>{console.log(label,"HANG");r()},1500);
 let s; try { s=tls.connect({host,port,servername:net.isIP(host)?"":host,...(ca?{ca}:{}),ALPNProtocols:["http/1.1"],lookup:(h,o,cb)=>{ o.all?cb(null,[{address:"::1",family:6},{address:"127.0.0.1",family:4}]):(console.log("not all"),cb(null,"127.0.0.1",4))}}); } catch(e){console.log(label,"THROW",e.message);clearTimeout(t);return r()}
 const ev=[]; for(const n of ["connect","secureConnect","close","end"]) s.on(n,()=>ev.push(n));
 s.on("secureConnect",()=>{console.log(label,"ok",ev.join());s.destroy()}); s.on("error",e=>console.log(label,"ERR",e.name,e.code,e.message,ev.join())); s.on("close",()=>{clearTimeout(t);console.log(label,"close",ev.join());r()}) }) }
await tryIt("good",await serve(good),good.cert);
await tryIt("unknown",await serve(good));
await tryIt("expired",await serve(exp),exp.cert);
await tryIt("other",await serve(other),other.cert);
const plain=net.createServer(s=>{s.on("error",()=>{});s.end("HTTP/1.1 400 Bad\r\n\r\n")}); await new Promise(r=>plain.listen(0,"127.0.0.1",r)); await tryIt("plain",plain.address().port);
const fin=net.createServer(s=>{s.on("error",()=>{});s.end()}); await new Promise(r=>fin.listen(0,"127.0.0.1",r)); await tryIt("fin",fin.address().port);
const rst=net.createServer(s=>{s.on("error",()=>{});s.once("data",()=>s.destroy())}); await new Promise(r=>rst.listen(0,"127.0.0.1",r)); await tryIt("closes after hello",rst.address().port);
await tryIt("ip", await serve(good), good.cert, "127.0.0.1");
await tryIt("refused", 1);
Deno.exit(0);
