import { describe, expect, inject, test } from "vitest";
import { createLog } from "../../shared/platform/log.ts";
import { createAttempt } from "../../supabase/functions/keyframe-deliver/send/attempt.ts";
import { createCheckedLookup, type Resolve } from "../../supabase/functions/keyframe-deliver/send/checked-lookup.ts";
import { createPost } from "../../supabase/functions/keyframe-deliver/send/post.ts";
import { parseOutputHosts } from "../../supabase/functions/keyframe-generate/files/open-output.ts";
import { openDatabase } from "../support/api/database.ts";
import { signUp } from "../support/api/user.ts";
import { HOSTILE_URLS, RESOLVER_TRICKS } from "../support/security/addresses.ts";
import { inParallel } from "../support/security/rest.ts";
import { setTrap, watchDials } from "../support/security/sockets.ts";

const sql = openDatabase();

/** deliver's own code, wired as its index.ts does outside the local stack; the resolver is the test's. */
function productionAttempt(resolve: Resolve, { allowLocal = false, timeoutMs = 2_000 } = {}) {
  const post = createPost({ lookup: createCheckedLookup(resolve, { allowLocal }), timeoutMs });
  return createAttempt({ post, allowLocal, now: Date.now, log: createLog({}, () => undefined) });
}

/** A delivery whose row somebody has written past every check of registration. */
const deliveryTo = (url: string) => ({
  id: crypto.randomUUID(),
  attempt: 1,
  laneToken: crypto.randomUUID(),
  endpointId: crypto.randomUUID(),
  eventId: crypto.randomUUID(),
  body: "{}",
  url,
  secrets: [`whsec_${btoa("a".repeat(32))}`],
});

const resolving =
  (...addresses: string[]): Resolve =>
  async () =>
    addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));

describe("a URL that leads inside, in the row of an endpoint", () => {
  test.each(HOSTILE_URLS)("%j → an attempt that failed for its address; nothing was dialled", async (url) => {
    const trap = await setTrap();
    const dials = watchDials();
    // Whatever name is left over, a resolver that means no good says that it is here.
    const attempt = productionAttempt(resolving("127.0.0.1"));
    const result = await attempt(deliveryTo(url.replaceAll("PORT", String(trap.port))));
    expect(result).toMatchObject({ status_code: null, error: "address", response_excerpt: null });
    expect(dials).toEqual([]);
    expect(trap.connections()).toBe(0);
  });
});

test("the API of the running stack, asked to register them → 400 for each but what it permits beside it, and no endpoint", async () => {
  const user = await signUp();
  const trap = await setTrap();
  // Loopback is for receivers beside the local stack; everything else is refused there, too.
  const inside = HOSTILE_URLS.map((url) => url.replaceAll("PORT", String(trap.port))).filter(
    (url) => !/^https?:\/\/([^@\\]*\.)?(127\.|localhost[:/]|\[[0:]*1\]:|0x7f|0177|2130706433|0*17700000001)/i.test(url),
  );
  expect(inside.length).toBeGreaterThan(60);
  const codes = await inParallel(inside, async (url) => {
    const { status, error } = await user.post("/api/webhooks", { url });
    return status === 201 ? "registered" : `${status} ${error?.code}`;
  });
  expect(codes.filter((code) => code === "400 invalid_request").length).toBeGreaterThan(60);
  expect(codes.filter((code) => code !== "400 invalid_request" && code !== "registered")).toEqual([]);
  // What was registered is another spelling of loopback, such as one in wide digits.
  const made = await sql<{ url: string }[]>`select url from keyframe.webhook_endpoints where owner_id = ${user.id}`;
  const hosts = made.map(({ url }) => new URL(url).hostname);
  expect(hosts.filter((host) => !/^(127\.\d+\.\d+\.\d+|(.+\.)?localhost|\[::1\])$/.test(host))).toEqual([]);
  expect(trap.connections()).toBe(0);
});

describe("a public name whose resolver means no good", () => {
  test.each(Object.entries(RESOLVER_TRICKS))("%s → nothing was dialled", async (_name, answers) => {
    const trap = await setTrap();
    const dials = watchDials();
    const result = await productionAttempt(resolving(...answers))(
      deliveryTo(`https://hooks.example.com:${trap.port}/`),
    );
    expect(result).toMatchObject({ status_code: null, response_excerpt: null });
    expect(["address", "dns"]).toContain(result.error);
    expect(dials).toEqual([]);
    expect(trap.connections()).toBe(0);
  });

  test("public at the check, loopback a moment later → one question for each connection, only what was checked is dialled", async () => {
    const trap = await setTrap();
    const dials = watchDials();
    let asked = 0;
    const rebinding: Resolve = async () => [{ address: asked++ % 2 === 0 ? "203.0.114.7" : "127.0.0.1", family: 4 }];
    const attempt = productionAttempt(rebinding);
    const url = `https://hooks.example.com:${trap.port}/`;
    for (let turn = 1; turn <= 6; turn++) {
      const { error } = await attempt(deliveryTo(url));
      expect(error).toBe(turn % 2 === 1 ? "connection" : "address");
    }
    expect(asked).toBe(6);
    expect(new Set(dials)).toEqual(new Set([`203.0.114.7:${trap.port}`]));
    expect(trap.connections()).toBe(0);
  });

  test("another answer for each question while ten deliveries are under way → none is dialled that was not checked", async () => {
    const trap = await setTrap();
    const dials = watchDials();
    const given: string[] = [];
    const fickle: Resolve = async () => {
      const answer = ["203.0.114.8", "127.0.0.1", "::1", "10.0.0.1", "203.0.114.9"][given.length % 5] ?? "";
      given.push(answer);
      return [{ address: answer, family: answer.includes(":") ? 6 : 4 }];
    };
    const attempt = productionAttempt(fickle);
    const url = `https://hooks.example.com:${trap.port}/`;
    await Promise.all(Array.from({ length: 10 }, () => attempt(deliveryTo(url))));
    expect(dials.toSorted()).toEqual(
      given
        .filter((address) => address.startsWith("203."))
        .map((address) => `${address}:${trap.port}`)
        .toSorted(),
    );
    expect(trap.connections()).toBe(0);
  });

  test("a resolver that never answers → the attempt ends in its time, nothing was dialled", async () => {
    const dials = watchDials();
    const attempt = productionAttempt(() => new Promise(() => undefined), { timeoutMs: 50 });
    expect(await attempt(deliveryTo("https://hooks.example.com/"))).toMatchObject({ error: "timeout" });
    expect(dials).toEqual([]);
  });
});

test.each([301, 302, 303, 307, 308])(
  "a receiver that answers %i with an address inside → not followed",
  async (status) => {
    const inside = await setTrap();
    const server = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen: () => undefined },
      () => new Response(null, { status, headers: { location: `http://127.0.0.1:${inside.port}/latest/meta-data/` } }),
    );
    const attempt = productionAttempt(resolving("127.0.0.1"), { allowLocal: true });
    const result = await attempt(deliveryTo(`http://hooks.test.localhost:${server.addr.port}/`));
    await server.shutdown();
    expect(result).toMatchObject({ status_code: status, error: "redirect" });
    expect(inside.connections()).toBe(0);
  },
);

test("the same trap, where loopback is permitted → one connection: the trap catches what comes", async () => {
  const trap = await setTrap();
  const attempt = productionAttempt(resolving("127.0.0.1"), { allowLocal: true });
  const result = await attempt(deliveryTo(`http://hooks.localhost:${trap.port}/`));
  expect(result).toMatchObject({ status_code: 200, error: null });
  expect(trap.connections()).toBe(1);
});

test("the provider's outputs → none of these addresses may be fetched, with the hosts of the hosted provider", () => {
  const isAllowed = parseOutputHosts("replicate.delivery");
  const tried = HOSTILE_URLS.map((url) =>
    url.replaceAll("PORT", "8443").replaceAll("example.com", "replicate.delivery"),
  );
  // Two of them are the provider's own host, with a path or a fragment that looks like another one: as fetch reads them, too.
  const hosts = tried.filter((url) => isAllowed(url)).map((url) => new URL(url).host);
  expect(new Set(hosts)).toEqual(new Set(["hooks.replicate.delivery"]));
  expect(isAllowed("https://pbxt.replicate.delivery/a/out.png")).toBe(true);
});

test.each([
  ["https://replicate.delivery/out.png", true],
  ["https://pbxt.replicate.delivery/out.png", true],
  ["https://origin.test/out.png", true],
  ["https://origin.test:443/out.png", true],
  ["http://127.0.0.1:4000/out.png", true],
  // A host whose name only ends or begins like one that is listed.
  ["https://evilreplicate.delivery/out.png", false],
  ["https://replicate.delivery.evil.test/out.png", false],
  ["https://sub.origin.test/out.png", false],
  // Another scheme. The origin of a blob: address is that of what follows.
  ["blob:https://replicate.delivery/out.png", false],
  ["blob:https://origin.test/out.png", false],
  ["blob:http://127.0.0.1:4000/out.png", false],
  ["filesystem:https://origin.test/out.png", false],
  ["http://replicate.delivery/out.png", false],
  ["http://origin.test/out.png", false],
  ["https://127.0.0.1:4000/out.png", false],
  ["ws://127.0.0.1:4000/out.png", false],
  ["wss://origin.test/out.png", false],
  ["ftp://origin.test/out.png", false],
  ["data:image/png;base64,AAAA", false],
  ["file:///etc/passwd", false],
  // Another port, and credentials.
  ["https://replicate.delivery:8443/out.png", false],
  ["https://origin.test:8443/out.png", false],
  ["http://127.0.0.1/out.png", false],
  ["https://user@origin.test/out.png", false],
  ["https://user:password@replicate.delivery/out.png", false],
  ["https://:password@origin.test/out.png", false],
])("an output at %s, with a host and two origins listed → allowed: %s", (url, expected) => {
  expect(parseOutputHosts("replicate.delivery, https://origin.test, http://127.0.0.1:4000/")(url)).toBe(expected);
});

test.each([
  "wss://origin.test",
  "ftp://origin.test",
  "blob:https://origin.test",
  "https://origin.test/path",
  "a_b",
  "",
])('a list of output hosts "%s" → refused at the start, with what it has to be', (list) => {
  expect(() => parseOutputHosts(list)).toThrow("must be host names or origins");
});

test("the running stack's api → a webhook at its own gateway or simulator, it is the owner's receiver and gets no key of ours", async () => {
  const { url, simulatorUrl, secretKey, kickSecret, replicateToken } = inject("stack");
  const user = await signUp();
  for (const target of [`${url}/rest/v1/rpc/claim_predictions`, `${simulatorUrl}/v1/predictions`]) {
    const { data } = await user.post("/api/webhooks", { url: target });
    const { webhookId = "" } = (data ?? {}) as { webhookId?: string }; // exactly checked in test/api
    await user.post(`/api/webhooks/${webhookId}/test`, {});
    const excerpt = async () => {
      const [row] = await sql<{ code: number | null; text: string | null }[]>`
        select a.status_code as code, a.response_excerpt as text from keyframe.webhook_attempts a
        join keyframe.webhook_deliveries d on d.id = a.delivery_id where d.endpoint_id = ${webhookId} limit 1`;
      return row;
    };
    await expect.poll(excerpt, { timeout: 15_000, interval: 50 }).toMatchObject({ code: expect.any(Number) });
    const seen = await excerpt();
    expect(seen?.code).toBeGreaterThanOrEqual(400);
    for (const secret of [secretKey, kickSecret, replicateToken]) expect(seen?.text).not.toContain(secret);
    await user.call(`/api/webhooks/${webhookId}`, { method: "DELETE" });
  }
});
