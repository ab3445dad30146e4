import { readdir, readFile, readlink } from "node:fs/promises";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { openUnfinished } from "../support/security/open-unfinished.ts";
import { residentMb, watchMemory } from "../../lab/bench/process-usage.ts";
import { openDatabase } from "../support/api/database.ts";
import { drawImage } from "../support/media/images.ts";
import { signUp, type User, useUser } from "../support/api/user.ts";
import { signedPost } from "../support/receiver/signed-post.ts";
import { until } from "../support/until.ts";

// Connections whose bodies do not end, written to the functions of the running stack: through the gateway, and straight to
// where a function listens. What bounds them, by a clock of the test's own: test/unit/api/read-body.test.ts.

const MIB = 1024 * 1024;
const UPLOAD = "/api/projects/reference-images";

/** The states of a process's TCP connections, as /proc has them (Linux only): 01 established, 08 closed by the other side alone. */
async function connectionStates(pid: number): Promise<string[]> {
  const folder = `/proc/${pid}/fd`;
  const links = (await readdir(folder)).map((fd) => readlink(`${folder}/${fd}`).catch(() => "")); // closed since
  const inodes = new Set((await Promise.all(links)).flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []));
  const tables = await Promise.all(["tcp", "tcp6"].map((name) => readFile(`/proc/${pid}/net/${name}`, "utf8")));
  return tables.flatMap((table) =>
    table.split("\n").flatMap((line) => {
      // sl, local address, peer's address, state, and in the tenth column the inode.
      const [, , , state = "", , , , , , inode = ""] = line.trim().split(/\s+/);
      return inodes.has(inode) ? [state] : [];
    }),
  );
}

const sql = openDatabase();
const user = useUser();

const viaGateway = (path: string) => `${inject("stack").url}/functions/v1${path}`;
const straight = (path: string) => {
  const [, name = ""] = /^\/([\w-]+)/.exec(path) ?? [];
  return `${inject("stack").functionUrls[name]}${path}`;
};
const WAYS = [
  ["through the gateway", viaGateway],
  ["straight at the function", straight],
] as const;

async function open(...request: Parameters<typeof openUnfinished>) {
  const opened = await openUnfinished(...request);
  onTestFinished(() => opened.close());
  return opened;
}

const bearer = ({ token }: User) => ({ authorization: `Bearer ${token}` });
const json = (by: User) => ({ ...bearer(by), "content-type": "application/json" });
const image = (by: User) => ({ ...bearer(by), "content-type": "image/png" });
const bytesOf = (text: string) => new TextEncoder().encode(text);
const codeOf = ({ status, body }: { status: number; body: string }) => [status, JSON.parse(body).error?.code];

/** A genuine callback about a prediction that nobody knows: it is answered 404 after a question to the database. */
function sendCallback(address: (path: string) => string): Promise<number> {
  const body = JSON.stringify({ id: "run", status: "processing", output: null, error: null, logs: "" });
  const query = new URLSearchParams({ prediction: crypto.randomUUID(), attempt: "1" });
  const { replicateWebhookSecret } = inject("stack");
  return signedPost(address(`/keyframe-replicate-webhook?${query}`), replicateWebhookSecret, body);
}

describe.each(WAYS)("unfinished bodies, sent %s", (_way, address) => {
  test("a Content-Length that is too short → 400 invalid_json for the truncated body, and nothing is made", async () => {
    const { answer } = await open(address("/api/projects"), json(user), 10, bytesOf('{"title":"t","textPrompt":"p"}'));
    expect(codeOf(await answer)).toEqual([400, "invalid_json"]);
  });

  test("chunks beyond the limit → 413 while the body still arrives", async () => {
    const chunk = bytesOf(`10000\r\n${" ".repeat(65_536)}\r\n`);
    const { answer, send } = await open(address("/api/projects"), json(user), "chunked", chunk);
    await send(chunk).catch(() => undefined);
    expect(codeOf(await answer)).toEqual([413, "payload_too_large"]);
  });

  test("an upload while the bucket is empty → 429 before a byte of its body has been sent", async () => {
    const hasty = await signUp();
    await sql`
      insert into keyframe_private.rate_buckets (owner_id, route_class, tokens, refilled_at)
      values (${hasty.id}, 'upload', -14, now())`;
    const { answer } = await open(address(UPLOAD), image(hasty), 5 * MIB, new Uint8Array(0));
    expect(codeOf(await answer)).toEqual([429, "rate_limited"]);
  });

  test("a request without a session → 401 before a byte of its body has been sent", async () => {
    for (const path of ["/api/projects", UPLOAD]) {
      const { answer } = await open(address(path), { "content-type": "image/png" }, 5 * MIB, new Uint8Array(0));
      expect(codeOf(await answer)).toEqual([401, "unauthorized"]);
    }
  });
});

test("a body that stops before its end → 408 request_timeout after 10 s: callback, kick, JSON, upload, chunks", async () => {
  const began = performance.now();
  const image50 = (await drawImage()).subarray(0, 50);
  const uploaders = await Promise.all(WAYS.map(() => signUp())); // one upload of an account is read at a time
  const opened = await Promise.all(
    WAYS.flatMap(([, address], way) => [
      open(address("/keyframe-replicate-webhook"), {}, 1000, bytesOf("{")),
      open(address("/keyframe-generate"), {}, "chunked", bytesOf("1\r\n{\r\n")),
      open(address("/api/projects"), json(user), 1000, bytesOf('{"title":')),
      open(address(UPLOAD), image(uploaders[way] ?? user), 100_000, image50),
    ]),
  );
  const answers = await Promise.all(opened.map(({ answer }) => answer));
  expect(answers.map(codeOf)).toEqual(answers.map(() => [408, "request_timeout"]));
  expect(performance.now() - began).toBeGreaterThan(9_000);
});

/** The other side has closed, the function has not. */
const LEFT_BEHIND = "08";

test.runIf(Deno.build.os === "linux")(
  "bodies that arrive after their headers, and senders that leave → the function closes the connections too",
  async () => {
    const { hostname, port } = new URL(straight("/keyframe-replicate-webhook"));
    const head = "POST /keyframe-replicate-webhook HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n";
    const send = async () => {
      const connection = await Deno.connect({ hostname, port: Number(port) });
      await connection.write(bytesOf(head));
      await new Promise((resolve) => setTimeout(resolve, 10)); // or both would come in one read
      await connection.write(bytesOf('{"id":"x"}'));
      await connection.read(new Uint8Array(1024));
      connection.close();
    };
    for (let round = 0; round < 3; round++) await Promise.all(Array.from({ length: 40 }, send));
    const pid = inject("stack").functionPids["keyframe-replicate-webhook"] ?? 0;
    const noneIsLeft = async () => (await connectionStates(pid)).every((state) => state !== LEFT_BEHIND);
    await until("no connection is left behind", noneIsLeft, 3_000); // before memory is collected, which would close them too
  },
);

describe("many unfinished bodies sent straight to the function", () => {
  const MAX_MB = 50;
  const memoryOf = (name: string) => inject("stack").functionPids[name] ?? 0;

  test("150 unsigned callbacks of 1 MiB that stop early → memory below idle + 50 MB, and a genuine one is answered", async () => {
    const pid = memoryOf("keyframe-replicate-webhook");
    const answered = async () => expect(await sendCallback(straight)).toBe(404);
    await answered();
    const idle = await residentMb(pid);
    const watch = watchMemory(pid);
    const bytes = new Uint8Array(MIB - 1);
    for (let time = 0; time < 150; time++) {
      await open(straight("/keyframe-replicate-webhook"), {}, MIB, bytes);
      if (time % 30 === 29) await answered();
    }
    await answered();
    expect((await watch.stop()) - idle).toBeLessThan(MAX_MB);
  });

  test("30 uploads of one account that break off at 9.9 MiB → memory below idle + 50 MB, another account's succeeds", async () => {
    const pid = memoryOf("api");
    const [attacker, other] = await Promise.all([signUp(), signUp()]);
    const upload = async () => expect(await other.upload(await drawImage())).toMatch(/^projects\//);
    await upload();
    const idle = await residentMb(pid);
    const watch = watchMemory(pid);
    const bytes = new Uint8Array(10 * MIB - 100_000);
    bytes.set(await drawImage());
    const breakOff = async () => {
      const { sent, answer, close } = await open(straight(UPLOAD), image(attacker), 10 * MIB, bytes);
      await Promise.race([sent, answer]); // read as far as it goes, or refused unread
      close();
    };
    await Promise.all([...Array.from({ length: 30 }, breakOff), upload()]);
    await upload();
    expect((await watch.stop()) - idle).toBeLessThan(MAX_MB);
  });
});
