import postgres from "postgres";
import { createClient } from "@supabase/supabase-js";
import { bootstrapPlatform } from "./bootstrap-platform.ts";
import { createPlatform } from "./create-platform.ts";
import { generateSigningKey } from "./signing-key.ts";
const url = "postgres://supabase_admin:secret@127.0.0.1:54991/postgres";
const sql = postgres(url, { max: 2, onnotice: () => {} });
console.time("bootstrap");
await bootstrapPlatform(sql, { postgresPassword: "pw" });
console.timeEnd("bootstrap");
console.time("bootstrap2");
await bootstrapPlatform(sql, { postgresPassword: "pw" });
console.timeEnd("bootstrap2");
const pub = "sb_publishable_test",
  sec = "sb_secret_test";
let handler: (r: Request) => Promise<Response>;
const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (r) => handler(r));
const publicUrl = `http://127.0.0.1:${server.addr.port}`;
const platform = await createPlatform({
  databaseUrl: url,
  publicUrl,
  signingKey: await generateSigningKey(),
  liteSecret: "x".repeat(40),
  publishableKey: pub,
  secretKey: sec,
  storageFolder: "/tmp/kf-platform-pg/files",
  functions: {},
});
handler = platform.fetch;
const admin = postgres("postgres://postgres:pw@127.0.0.1:54991/postgres", { max: 1, onnotice: () => {} });
await admin
  .unsafe(`
drop table if exists notes; 
create table notes(id bigint generated always as identity primary key, owner_id uuid not null default auth.uid() references auth.users, body text);
alter table notes enable row level security;
drop policy if exists a on notes; create policy a on notes to authenticated using (owner_id=(select auth.uid())) with check (owner_id=(select auth.uid()));
create or replace function ping(n int, extra jsonb default '{}') returns jsonb language sql stable as $$ select jsonb_build_object('n', n, 'extra', extra, 'uid', auth.uid(), 'role', auth.role(), 'jwt', auth.jwt()->>'email') $$;
create or replace function not_ready() returns jsonb language plpgsql as $$ begin raise exception using errcode='KEYFR', message='frame_not_ready', detail='d', hint='h'; end $$;
create or replace function denied() returns jsonb language sql as $$ select '1'::jsonb $$; revoke execute on function denied from public, anon, authenticated;
insert into storage.buckets(id,name,file_size_limit,allowed_mime_types) values ('b','b',1000000,'{image/png,text/plain}') on conflict do nothing;
drop policy if exists o on storage.objects; create policy o on storage.objects for all to authenticated using (bucket_id='b' and owner_id=(select auth.uid()::text)) with check (bucket_id='b' and owner_id=(select auth.uid()::text));
`)
  .simple();
const c = createClient(publicUrl, pub);
const email = `u${Date.now()}@example.com`;
console.log("signup", JSON.stringify(await c.auth.signUp({ email, password: "correct horse" })).slice(0, 300));
const s = await c.auth.signInWithPassword({ email, password: "correct horse" });
console.log(
  "signin",
  s.error,
  s.data.session?.access_token
    .split(".")
    .slice(0, 2)
    .map((x) => atob(x.replace(/-/g, "+").replace(/_/g, "/"))),
);
console.log("claims", JSON.stringify(await c.auth.getClaims()).slice(0, 600));
console.log("user", (await c.auth.getUser()).data.user?.email);
console.log("refresh", (await c.auth.refreshSession()).error);
console.log("insert", await c.from("notes").insert({ body: "hi" }).select());
console.log("rpc", JSON.stringify(await c.rpc("ping", { n: 3, extra: { a: [1] } })));
console.log("raise", JSON.stringify(await c.rpc("not_ready")));
console.log("denied", JSON.stringify(await c.rpc("denied")));
console.log("anon denied", JSON.stringify(await createClient(publicUrl, pub).rpc("denied")));
console.log("secret ok", JSON.stringify(await createClient(publicUrl, sec).rpc("denied")));
console.log(
  "upload bytes",
  await c.storage.from("b").upload("x/1.txt", new TextEncoder().encode("hello"), { contentType: "text/plain" }),
);
console.log(
  "upload blob",
  await c.storage.from("b").upload("x/2.txt", new Blob(["hello blob"], { type: "text/plain" })),
);
console.log(
  "upload mime",
  await c.storage.from("b").upload("x/3.txt", new Blob(["hello blob"], { type: "text/html" })),
);
console.log(
  "upload big",
  await c.storage.from("b").upload("x/4.txt", new Blob([new Uint8Array(2000000)], { type: "text/plain" })),
);
console.log(
  "upload dup",
  await c.storage.from("b").upload("x/2.txt", new Blob(["hello blob"], { type: "text/plain" })),
);
const d = await c.storage.from("b").download("x/2.txt");
console.log("download", d.error, await d.data?.text(), d.data?.type);
const su = await c.storage.from("b").createSignedUrl("x/2.txt", 60);
console.log("sign", su);
if (su.data) {
  const r = await fetch(su.data.signedUrl, { headers: { range: "bytes=1-3" } });
  console.log(r.status, Object.fromEntries(r.headers), await r.text());
}
console.log("many", JSON.stringify(await c.storage.from("b").createSignedUrls(["x/2.txt", "x/9.txt"], 60)));
console.log("signup", await c.storage.from("b").createSignedUploadUrl("x/5.txt"));
console.log("anon dl", await createClient(publicUrl, pub).storage.from("b").download("x/2.txt"));
console.log(
  "anon up",
  await createClient(publicUrl, pub)
    .storage.from("b")
    .upload("x/7.txt", new Uint8Array(3), { contentType: "text/plain" }),
);
console.log(
  "list",
  (await c.storage.from("b").list("x")).data?.map((o) => o.name),
);
console.log("info", JSON.stringify(await c.storage.from("b").info("x/2.txt")));
console.log("remove", JSON.stringify(await c.storage.from("b").remove(["x/1.txt"])));
console.log(
  "grants",
  await sql`select grantee, string_agg(privilege_type, ',') from information_schema.role_table_grants where table_name='notes' group by 1`,
  await sql`select id, owner_id, metadata from storage.objects`,
);
const t = performance.now();
let n = 0;
await Promise.all(
  Array.from({ length: 10 }, async () => {
    while (performance.now() - t < 3000) {
      await c.rpc("ping", { n: 1 });
      n++;
    }
  }),
);
console.log("rpc/s", n / 3);
console.log("signout", await c.auth.signOut());
await platform.close();
await sql.end();
await admin.end();
await server.shutdown();
Deno.exit();
