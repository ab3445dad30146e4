import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
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
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";
import { type Running, runProgram } from "../support/tools/run-command.ts";

const folder = await Deno.makeTempDir({ prefix: "kf-receiver-samples-" });
const running: Running[] = [];

// What a reader who installed the library has in the folder: so the samples run as they stand, without the network.
await Deno.symlink(join(PROJECT_ROOT, "node_modules"), `${folder}/node_modules`);
const packageJson = await Deno.readTextFile(join(PROJECT_ROOT, "package.json"));
const { standardwebhooks } = JSON.parse(packageJson).devDependencies;
await Deno.writeTextFile(
  `${folder}/package.json`,
  JSON.stringify({ type: "module", dependencies: { standardwebhooks } }),
);

afterAll(async () => {
  for (const sample of running) sample.kill("SIGKILL");
  await Promise.all(running.map(({ ended }) => ended));
  await Deno.remove(folder, { recursive: true });
});

/** Starts a sample of the guide as its reader would. Its first line names the port. */
async function run(sample: string, file: string, command: string, args: string[]) {
  await Deno.writeTextFile(`${folder}/${file}`, documentedSample(sample));
  const started = runProgram(command, [...args, `${folder}/${file}`], { WEBHOOK_SECRET: SECRET, PORT: "0" });
  running.push(started);
  await started.printed("\n");
  const port = /^port (\d+)$/m.exec(started.output())?.[1];
  return { url: `http://127.0.0.1:${port}/webhooks/keyframe`, printed: started.printed };
}

/** What every sample must do: take what is genuine, whatever its type, refuse the rest, and live on. */
async function expectToVerify(sample: Awaited<ReturnType<typeof run>>): Promise<void> {
  const { url, printed } = sample;
  const refused: Delivery[] = [
    { secrets: [OTHER_SECRET] },
    { sentBody: BODY.replace("dawn", "dusk") },
    { drop: "webhook-signature" },
    { at: new Date(Date.now() - 6 * 60_000) },
    { at: new Date(Date.now() + 6 * 60_000) },
  ];
  for (const delivery of refused) expect([await status(deliver(url, delivery)), delivery]).toEqual([401, delivery]);
  for (const body of [BODY, ...documentedBodies]) {
    const id = crypto.randomUUID();
    expect(await status(deliver(url, { id, body, secrets: [OTHER_SECRET, SECRET] }))).toBe(204);
    await printed(`received ${id} ${JSON.parse(body).type}\n`);
  }
}

/** The most that a refused request may send, or leave open. */
const LONG_BODY = "x".repeat(1_000_000);

/** Sends a request byte by byte as it stands, leaves it open, and resolves once it is answered or cut. */
async function endOf(url: string, headers: string[]): Promise<void> {
  const { hostname, port } = new URL(url);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  const request = ["POST / HTTP/1.1", "host: x", ...headers, "", LONG_BODY].join("\r\n");
  const sent = connection.write(new TextEncoder().encode(request)).catch(() => 0);
  await connection.read(new Uint8Array(100)).catch(() => null);
  connection.close();
  await sent.catch(() => 0);
}

/** What a sender with or without the secret can send: it is answered or cut before it is read whole, and none ends the process. */
async function expectToSurvive({ url, printed }: Awaited<ReturnType<typeof run>>): Promise<void> {
  for (const length of ["-1", "1000000000", "abc"]) await endOf(url, [`content-length: ${length}`]);
  await endOf(url, []);
  for (const body of ["", "null", "7", "hello"]) await status(deliver(url, { body })).catch(() => 0);
  await status(deliver(url, { body: LONG_BODY })).catch(() => 0);
  const id = crypto.randomUUID();
  expect(await status(deliver(url, { id }))).toBe(204);
  await printed(`received ${id} project.created\n`);
}

const DENO = ["run", "--quiet", "--check", "--no-prompt", "-EN", "--cached-only"];

test.for<[sample: string, file: string, command: string, args: string[]]>([
  ["node", "receiver.mjs", "node", []],
  ["deno", "receiver.ts", Deno.execPath(), DENO],
  ["python", "receiver.py", "python3", []],
])(
  "the guide's receiver in %s → accepts genuine events, refuses others, and goes on running",
  async (started, { skip }) => {
    const [, , command] = started;
    const { code } = await new Deno.Command(command, { args: ["--version"] }).output().catch(() => ({ code: null }));
    skip(code !== 0, `NOT TESTED: there is no ${command} here.`);
    const sample = await run(...started);
    await expectToVerify(sample);
    await expectToSurvive(sample);
  },
);

test("the guide's receiver in Deno → has the library's version of this repository", () => {
  expect(documentedSample("deno")).toContain(`npm:standardwebhooks@${standardwebhooks}`);
});
