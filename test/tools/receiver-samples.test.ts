import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { afterAll, describe, expect, test } from "vitest";
import {
  BODY,
  type Delivery,
  deliver,
  documentedBodies,
  documentedSample,
  OTHER_SECRET,
  SECRET,
  status,
} from "./receiver-fixture.ts";

const root = new URL("../../", import.meta.url).pathname;
const folder = await Deno.makeTempDir({ prefix: "kf-receiver-samples-" });
const children: Deno.ChildProcess[] = [];

// What a reader who installed the library has in the folder: so the samples run as they stand, without the network.
await Deno.symlink(`${root}node_modules`, `${folder}/node_modules`);
await Deno.writeTextFile(
  `${folder}/package.json`,
  JSON.stringify({ type: "module", dependencies: { standardwebhooks: await readVersion() } }),
);

afterAll(async () => {
  for (const child of children) child.kill("SIGKILL");
  await Promise.all(children.map((child) => child.status));
  await Deno.remove(folder, { recursive: true });
});

async function readVersion(): Promise<string> {
  return JSON.parse(await Deno.readTextFile(`${root}package.json`)).dependencies.standardwebhooks;
}

/** Starts a sample of the guide as its reader would. Its lines come one by one; the first one names the port. */
async function run(sample: string, file: string, command: string, args: string[]) {
  await Deno.writeTextFile(`${folder}/${file}`, documentedSample(sample));
  const child = new Deno.Command(command, {
    args: [...args, file],
    cwd: folder,
    env: { WEBHOOK_SECRET: SECRET, PORT: "0" },
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  children.push(child);
  const lines = linesOf(child);
  const port = (await lines()).match(/^port (\d+)$/)?.[1];
  return { url: `http://127.0.0.1:${port}/webhooks/keyframe`, lines };
}

/** What a process prints, line by line. Throws when it has ended. */
function linesOf(process: Deno.ChildProcess): () => Promise<string> {
  const complaints = new Response(process.stderr).text();
  const lines = createInterface({ input: Readable.from(process.stdout) })[Symbol.asyncIterator]();
  return async () => {
    const { done, value } = await lines.next();
    if (done) throw new Error(`It ended: ${await complaints}`);
    return value;
  };
}

async function succeeds(command: string, args: string[]): Promise<boolean> {
  return await new Deno.Command(command, { args, stdout: "null", stderr: "null" }).output().then(
    ({ success }) => success,
    () => false,
  );
}

/** What every sample must do: take what is genuine, whatever its type, refuse the rest, and live on. */
async function expectToVerify(sample: Awaited<ReturnType<typeof run>>): Promise<void> {
  const { url, lines } = sample;
  const refused: Delivery[] = [
    { secrets: [OTHER_SECRET] },
    { sentBody: BODY.replace("dawn", "dusk") },
    { sentBody: JSON.stringify(JSON.parse(BODY), null, 1) },
    { drop: "webhook-signature" },
    { drop: "webhook-id" },
    { drop: "webhook-timestamp" },
    { at: new Date(Date.now() - 6 * 60_000) },
    { at: new Date(Date.now() + 6 * 60_000) },
  ];
  for (const delivery of refused) expect([await status(deliver(url, delivery)), delivery]).toEqual([401, delivery]);
  for (const body of [BODY, ...documentedBodies]) {
    const id = crypto.randomUUID();
    expect(await status(deliver(url, { id, body, secrets: [OTHER_SECRET, SECRET] }))).toBe(204);
    expect(await lines()).toBe(`received ${id} ${JSON.parse(body).type}`);
  }
}

describe("the guide's sample takes what is genuine and refuses the rest", () => {
  test("Node", async () => {
    await expectToVerify(await run("node", "receiver.mjs", "node", []));
  });

  test("Deno, with the version of package.json", async () => {
    expect(documentedSample("deno")).toContain(`npm:standardwebhooks@${await readVersion()}`);
    await expectToVerify(
      await run("deno", "receiver.ts", Deno.execPath(), ["run", "--no-prompt", "-EN", "--cached-only"]),
    );
  });

  test("Python, without a library", async ({ skip }) => {
    if (!(await succeeds("python3", ["--version"]))) loudly(skip, "there is no python3 here");
    await expectToVerify(await run("python-stdlib", "stdlib.py", "python3", []));
  });

  test("Python, with the library", async ({ skip }) => {
    if (!(await succeeds("python3", ["-c", "import standardwebhooks"]))) {
      loudly(skip, "python3 has no standardwebhooks here (pip install standardwebhooks)");
    }
    await expectToVerify(await run("python", "receiver.py", "python3", []));
  });
});

test("the guide's Deno sample type-checks", async () => {
  await Deno.writeTextFile(`${folder}/check.ts`, documentedSample("deno"));
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["check", "--cached-only", "check.ts"],
    cwd: folder,
  }).output();
  expect([success, new TextDecoder().decode(stderr)]).toEqual([true, expect.anything()]);
});

function loudly(skip: (note: string) => never, reason: string): never {
  console.warn(`NOT TESTED: ${reason}.`);
  skip(reason);
}
