import { expect, inject, onTestFinished, test } from "vitest";
import { createLog } from "../../shared/platform/log.ts";
import { createAttempt } from "../../supabase/functions/keyframe-deliver/send/attempt.ts";
import { createCheckedLookup, type Resolve } from "../../supabase/functions/keyframe-deliver/send/checked-lookup.ts";
import { createPost } from "../../supabase/functions/keyframe-deliver/send/post.ts";
import { checkAddress, checkUrl } from "../../shared/webhooks/check-url.ts";
import { outputHosts } from "../../shared/platform/environment.ts";
import { openDatabase } from "../support/api/database.ts";
import { signUp } from "../support/api/user.ts";

// Each kind of address that is refused, followed to the socket.

const sql = openDatabase();
const words = (text: string) => text.trim().split(/\s+/);
const atHosts = (text: string) => words(text).map((host) => `https://${host}/`);

/** Loopback in IPv4 and IPv6, by name, and without https: what a stack on this machine permits. */
const LOOPBACK = words(`
  https://127.0.0.1:8443/ https://127.1:8443/ https://2130706433:8443/ https://0x7f.1:8443/ https://0177.0.0.01:8443/ https://127.0.0.1.:8443/
  https://１２７.0.0.1:8443/ https://127。0。0。1:8443/ https://①②⑦.0.0.①:8443/ https://127%2e0%2e0%2e1:8443/ https://%31%32%37.0.0.1:8443/ https://[::1]:8443/
  https://[0:0:0:0:0:0:0:1]:8443/ https://localhost:8443/ https://LOCALHOST:8443/ https://a.localhost:8443/ https://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ:8443/
  https://loc%61lhost:8443/ http://127.0.0.1:8443/ HTTP://localhost:8443/`);

/** What leads inside or is no address of a receiver, wherever it is registered. */
const INSIDE = [
  ...words(String.raw`
    https://0:8443/ https://0.0.0.0:8443/ https://[::]:8443/ https://[::127.0.0.1]:8443/ https://[::ffff:127.0.0.1]:8443/
    https://[::ffff:0:127.0.0.1]:8443/ https://[64:ff9b::127.0.0.1]:8443/ https://[64:ff9b:1::7f00:1]:8443/ https://[2002:7f00:1::]:8443/
    https://[2001:0:7f00:1::]:8443/ https://[fe80::1%25lo]:8443/ https://localhost.localdomain:8443/ https://ip6-localhost:8443/
    https://printer.local:8443/ https://metadata.google.internal:8443/computeMetadata/v1/ https://kubernetes.default.svc.cluster.local:8443/
    https://router.lan:8443/ https://wiki.corp:8443/ https://nas.home.arpa:8443/ https://postgres:8443/ https://10.0.0.1:8443/
    https://167772161:8443/ https://172.16.0.1:8443/ https://192.168.257:8443/ https://169.254.169.254:8443/latest/meta-data/
    https://0xa9fea9fe:8443/ https://0251.0376.0251.0376:8443/ https://[::ffff:a9fe:a9fe]:8443/ https://[fd00:ec2::254]:8443/
    https://168.63.129.16:8443/ https://100.100.100.200:8443/ https://192.0.0.192:8443/ https://198.18.0.1:8443/ https://224.0.0.1:8443/
    https://255.255.255.255:8443/ https://[fc00::1]:8443/ https://[ff02::1]:8443/ https://[fec0::1]:8443/ https://[100::1]:8443/
    https://hooks.example.com:443@127.0.0.1:8443/ https://user:password@127.0.0.1:8443/ https://127.0.0.1:8443\@hooks.example.com/
    https://hooks.example.com\@127.0.0.1:8443/ https://127.0.0.1:8443#@hooks.example.com/ https:/127.0.0.1:8443/ https:127.0.0.1:8443/
    https:///127.0.0.1:8443/ https:\\127.0.0.1:8443/ //127.0.0.1:8443/ ftp://127.0.0.1:8443/ wss://127.0.0.1:8443/
    gopher://127.0.0.1:8443/_GET file:///etc/passwd data:text/plain,hello blob:https://127.0.0.1:8443/1 unix:/var/run/docker.sock
    view-source:https://127.0.0.1:8443/`),
  ...[
    "https://127.0.0.1\t:8443/",
    "https://127.0.0\n.1:8443/",
    "https://127.0.0.1\u00ad:8443/",
    " https://127.0.0.1:8443/",
  ],
  ...atHosts(`
    172.31.255.255 100.64.0.1 100.127.255.255 192.0.2.1 198.51.100.1 203.0.113.1 192.88.99.1 239.255.255.250 240.0.0.1
    [::ffff:8.8.8.8] [2002:a00:1::1] [64:ff9b::169.254.169.254] [2606:4700:4700::1111%25eth0] [fe80::1%eth0] [2001:db8::1] [3fff::1]
    [2001:2::1] [4000::1] [1::1] [127.0.0.1]`),
  "https://[::1/",
];

/** What leads to no public name or port, or has another meaning for another reader. */
const MISREAD = [
  ...words(String.raw`
    example.com //example.com/ ftp://example.com/ javascript:alert(1) https:example.com https:/example.com https:///example.com https://
    https://?x https://user:password@example.com/ https://user@example.com/ https://@example.com/ https://example.com/#there
    https://example.com/# https://127.0.0.1\.example.com/ https:\\example.com/`),
  ...atHosts(`
    example.com:22 example.com:25 example.com:80 example.com:1023 example.com:0 example.com:65536 example.com:-1 example.com:443x
    localhost.. anything.local printer.local. db.internal metadata.google.internal. nas.home wiki.intranet intranet metadata example.com.
    example..com .example.com -a.example.com example.c*m exa%00mple.com exa%20mple.com xn--a.example.com xn--127.0.0.1 example.123
    1.2.3.4.5 999.1.1.1 ${"a".repeat(64)}.example.com ${"a.".repeat(130)}com`),
  ...["https://example.com/ ", "https://example.com:4 43/", "https://exam\tple.com/", "https://exa\u200bmple.com/"],
  "https://example.com/\r\nX-Injected: 1",
  ..."\u0000\u007f\u0085\u00a0\u2028\u202e\ufeff\ud800".split("").map((sign) => `https://example.com/${sign}`),
  `https://example.com/${"a".repeat(2029)}`,
];

/** What a resolver may answer for a public name, each a list. One forbidden address refuses the name. */
const ANSWERS = [
  ...words(`
    127.0.0.1 203.0.114.1,127.0.0.1 127.0.0.1,203.0.114.1 203.0.114.1,fd00::1 ::1 ::ffff:127.0.0.1 ::ffff:7f00:1 ::127.0.0.1 64:ff9b::7f00:1
    64:ff9b:1::7f00:1 2002:7f00:1::1 2001:0:7f00:1::1 0.0.0.0 :: 169.254.169.254 168.63.129.16 10.0.0.5 100.64.0.1 fe80::1%lo 224.0.0.1
    localhost 2130706433 0177.0.0.1 0x7f000001 127.1 203.0.114.1:22 ::ffff:8.8.8.8 ::8.8.8.8 4000::1 2606:4700::1111%eth0 example.com [::1]
    8.8.8.8/24`),
  "",
  [...Array.from({ length: 49 }, (_, at) => `203.0.114.${at + 1}`), "192.168.0.1"].join(),
];

/** Notes every address that this process asks the system to connect to, and lets none of them through. Undone with its test. */
function watchDials(): string[] {
  const dials: string[] = [];
  const { connect } = Deno;
  const watched = (options: Deno.ConnectOptions): Promise<Deno.TcpConn> => {
    const dial = `${options.hostname}:${options.port}`;
    dials.push(dial);
    return Promise.reject(new Deno.errors.ConnectionRefused(dial));
  };
  // Deno.connect is overloaded for Unix sockets too, which nothing here opens.
  Deno.connect = watched as typeof Deno.connect;
  onTestFinished(() => {
    Deno.connect = connect;
  });
  return dials;
}

/** deliver's own code, wired as its index.ts does outside the local stack; the resolver is the test's. */
function productionAttempt(resolve: Resolve, { allowLocal = false, timeoutMs = 2_000 } = {}) {
  const post = createPost({ lookup: createCheckedLookup(resolve, { allowLocal }), timeoutMs });
  const times = { now: Date.now, elapsed: () => performance.now() };
  return createAttempt({ post, allowLocal, ...times, log: createLog({}, () => undefined) });
}

/** A delivery whose row somebody has written past every check of registration. */
const deliveryTo = (url: string) => ({
  id: crypto.randomUUID(),
  work_id: 1,
  attempt: 1,
  endpoint_id: crypto.randomUUID(),
  event_id: crypto.randomUUID(),
  body: "{}",
  url,
  secrets: [`whsec_${btoa("a".repeat(32))}`],
});

const resolving =
  (...addresses: string[]): Resolve =>
  async () =>
    addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));

test.each([...LOOPBACK, ...INSIDE, ...MISREAD, "http://example.com/"])(
  "an endpoint's row with an internal address: %j → a failed attempt with the error “address”, no connection",
  async (url) => {
    const dials = watchDials();
    const result = await productionAttempt(resolving("127.0.0.1"))(deliveryTo(url));
    expect(result).toMatchObject({ status_code: null, error: "address", response_excerpt: null });
    expect(dials).toEqual([]);
  },
);

test("POST of an endpoint at each internal address to the running API → 400, and no endpoint", async () => {
  const user = await signUp();
  for (const url of [...INSIDE, ...MISREAD]) {
    const { status, error } = await user.post("/api/webhooks", { url });
    expect([url, status, error?.code]).toEqual([url, 400, "invalid_request"]);
  }
  expect(await sql`select url from keyframe.webhook_endpoints where owner_id = ${user.id}`).toEqual([]);
});

test.each([
  ...words(`
    https://example.com https://hooks.example.com/keyframe?tenant=4&x=%40me https://hooks.example.com:443/ https://hooks.example.com:1024/
    https://EXAMPLE.com/Case https://bücher.example/hook https://xn--bcher-kva.example/hook https://a_b.example.com/
    https://localhost.example.com/ https://internal.example.com/ https://8.8.8.8/ https://[2606:4700:4700::1111]:8443/hook`),
  `https://example.com/${"a".repeat(2028)}`,
])("an endpoint at %s → may be registered", (url) => {
  expect(checkUrl(url)).toBeNull();
});

test("an endpoint of a local stack → also loopback without https, at any port; no other internal address", () => {
  const isTaken = (url: string) => checkUrl(url, { allowLocal: true }) === null;
  const taken = words(`
    http://localhost:3000/hook http://127.0.0.1/hook http://[::1]:3000/ https://receiver.localhost:8443/ http://example.com/ https://example.com/`);
  const refused = words(`
    ftp://127.0.0.1/ http://user@127.0.0.1/ http://127.0.0.1/#x http://127.0.0.1:22/ http://127.0.0.1:80@10.0.0.1/ http://10.0.0.1:3000/
    http://169.254.169.254/ http://0.0.0.0:3000/ http://[::ffff:127.0.0.1]:3000/ http://localhost./ http://printer.local/`);
  expect([taken.filter((url) => !isTaken(url)), refused.filter(isTaken)]).toEqual([[], []]);
  const check = (ip: string) => checkAddress(ip, { allowLocal: true });
  expect(["127.0.0.1", "127.0.0.53", "::1", "8.8.8.8", "2a00:1450:4001:81b::200e"].map(check)).toEqual([
    ...[null, null, null, null, null],
  ]);
  expect(["10.0.0.1", "169.254.169.254", "::ffff:127.0.0.1", "0.0.0.0"].map(check)).not.toContain(null);
});

const NAMED = "https://hooks.example.com:8443/";

test.each(ANSWERS)("a public name whose hostile resolver says %s → no connection", async (answers) => {
  const dials = watchDials();
  const result = await productionAttempt(resolving(...answers.split(",")))(deliveryTo(NAMED));
  expect(result).toMatchObject({ status_code: null, response_excerpt: null });
  expect(["address", "dns"]).toContain(result.error);
  expect(dials).toEqual([]);
});

test("a public name with a different answer each time → one lookup for each delivery, only checked addresses are used", async () => {
  const dials = watchDials();
  const given: string[] = [];
  const fickle: Resolve = async () => {
    const answer = ["203.0.114.8", "127.0.0.1", "::1", "10.0.0.1", "203.0.114.9"][given.length % 5] ?? "";
    given.push(answer);
    return [{ address: answer, family: answer.includes(":") ? 6 : 4 }];
  };
  const attempt = productionAttempt(fickle);
  for (let turn = 0; turn < 10; turn++) {
    const { error } = await attempt(deliveryTo(NAMED));
    expect([given.at(-1), error]).toEqual([given.at(-1), given.at(-1)?.startsWith("203.") ? "connection" : "address"]);
  }
  await Promise.all(Array.from({ length: 10 }, () => attempt(deliveryTo(NAMED))));
  expect(given).toHaveLength(20);
  const checked = given.filter((address) => address.startsWith("203.")).map((address) => `${address}:8443`);
  expect(dials.toSorted()).toEqual(checked.toSorted());
});

test("a resolver that never answers → the attempt ends in its time, without a connection", async () => {
  const dials = watchDials();
  const attempt = productionAttempt(() => new Promise(() => undefined), { timeoutMs: 50 });
  expect(await attempt(deliveryTo(NAMED))).toMatchObject({ error: "timeout" });
  expect(dials).toEqual([]);
});

test("a receiver that answers 301, 302, 303, 307 or 308 with an internal address → not followed", async () => {
  const asked: string[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => undefined }, ({ url }) => {
    const { pathname, origin } = new URL(url);
    asked.push(pathname);
    return new Response(null, { status: Number(pathname.slice(1)), headers: { location: `${origin}/200` } });
  });
  onTestFinished(() => server.shutdown());
  const attempt = productionAttempt(resolving("127.0.0.1"), { allowLocal: true });
  for (const status of [301, 302, 303, 307, 308]) {
    const result = await attempt(deliveryTo(`http://hooks.test.localhost:${server.addr.port}/${status}`));
    expect(result).toMatchObject({ status_code: status, error: "redirect" });
  }
  expect(asked).toEqual(["/301", "/302", "/303", "/307", "/308"]);
});

const isAllowed = outputHosts.parse("replicate.delivery, https://origin.test, http://127.0.0.1:4000/");

test.each(
  words(`
    https://replicate.delivery/out.png https://pbxt.replicate.delivery/out.png https://origin.test/out.png https://origin.test:443/out.png
    http://127.0.0.1:4000/out.png`),
)("an output at %s, with one host and two origins allowed → fetched", (url) => {
  expect(isAllowed(url)).toBe(true);
});

/** Names that end or begin like a listed one, other schemes (the origin of a blob: address is that of what follows), ports, credentials. */
test.each([
  ...words(`
    https://evilreplicate.delivery/out.png https://replicate.delivery.evil.test/out.png https://sub.origin.test/out.png
    blob:https://replicate.delivery/out.png blob:https://origin.test/out.png blob:http://127.0.0.1:4000/out.png
    filesystem:https://origin.test/out.png http://replicate.delivery/out.png http://origin.test/out.png https://127.0.0.1:4000/out.png
    ws://127.0.0.1:4000/out.png wss://origin.test/out.png ftp://origin.test/out.png https://replicate.delivery:8443/out.png
    https://origin.test:8443/out.png http://127.0.0.1/out.png https://user@origin.test/out.png
    https://user:password@replicate.delivery/out.png https://:password@origin.test/out.png`),
  ...LOOPBACK,
  ...INSIDE,
])("an output at %j → not fetched", (url) => {
  expect(isAllowed(url)).toBe(false);
});

test.each([
  "wss://origin.test",
  "ftp://origin.test",
  "blob:https://origin.test",
  "https://origin.test/path",
  "a_b",
  "",
])('a list of output hosts "%s" → refused at the start, with the form it must have', (list) => {
  expect(() => outputHosts.parse(list)).toThrow("must be host names or origins");
});

test("a webhook whose receiver is the stack's own gateway or simulator → posted without any key of the stack", async () => {
  const { url, simulatorUrl, secretKey, kickSecret, replicateToken } = inject("stack");
  const user = await signUp();
  for (const target of [`${url}/rest/v1/rpc/claim_tasks`, `${simulatorUrl}/v1/predictions`]) {
    const { data } = await user.post("/api/webhooks", { url: target });
    const { webhookId = "" } = (data ?? {}) as { webhookId?: string }; // exactly checked in test/api
    await user.post(`/api/webhooks/${webhookId}/test`, {});
    const excerpt = async () => {
      const [row] = await sql<{ code: number | null; text: string | null }[]>`
        select a.status_code as code, a.response_excerpt as text from keyframe.webhook_attempts a
        join keyframe.webhook_deliveries d on d.id = a.delivery_id where d.endpoint_id = ${webhookId} limit 1`;
      return row;
    };
    await expect.poll(excerpt).toMatchObject({ code: expect.any(Number) });
    const seen = await excerpt();
    expect(seen?.code).toBeGreaterThanOrEqual(400);
    for (const secret of [secretKey, kickSecret, replicateToken]) expect(seen?.text).not.toContain(secret);
    await user.call(`/api/webhooks/${webhookId}`, { method: "DELETE" });
  }
});
