import { join } from "node:path";
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
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";
import { type Running, runProgram } from "../support/tools/run-command.ts";

const folder = await Deno.makeTempDir({ prefix: "kf-receiver-samples-" });
const running: Running[] = [];

// What a reader who installed the library has in the folder: so the samples run as they stand, without the network.
await Deno.symlink(join(PROJECT_ROOT, "node_modules"), `${folder}/node_modules`);
const packageJson = await Deno.readTextFile(join(PROJECT_ROOT, "package.json"));
const { standardwebhooks } = JSON.parse(packageJson).dependencies;
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

const succeeds = (command: string, args: string[]) =>
  runProgram(command, args).ended.then(
    ({ code }) => code === 0,
    () => false,
  );

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

describe("the guide's sample takes what is genuine and refuses the rest", () => {
  test("Node", async () => {
    await expectToVerify(await run("node", "receiver.mjs", "node", []));
  });

  test("Deno, with the version of package.json, type-checked", async () => {
    expect(documentedSample("deno")).toContain(`npm:standardwebhooks@${standardwebhooks}`);
    await expectToVerify(
      await run("deno", "receiver.ts", Deno.execPath(), [
        "run",
        "--quiet",
        "--check",
        "--no-prompt",
        "-EN",
        "--cached-only",
      ]),
    );
  });

  test("Python", async ({ skip }) => {
    if (!(await succeeds("python3", ["--version"]))) {
      console.warn("NOT TESTED: there is no python3 here.");
      skip("there is no python3 here");
    }
    await expectToVerify(await run("python", "receiver.py", "python3", []));
  });
});
