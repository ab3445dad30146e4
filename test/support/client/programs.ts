import { expect, inject, onTestFinished } from "vitest";
import { transformWithOxc } from "vite";
import type { ShotPrediction } from "../../../client/index.ts";
import { PROJECT_ROOT as ROOT } from "../../../local/stack/project-root.ts";
import { newPerson } from "../dashboard/person.ts";
import { drawImage } from "../media/images.ts";
import { answers } from "../receiver/habits.ts";
import { startFlowReceiver } from "../receiver/receiver.ts";
import { runProgram } from "../tools/run-command.ts";
import type { JourneyInput, JourneyReport } from "./journey.ts";

// Programs of an app that has installed the client, in whatever runtime, against the running stack.

const read = (path: string) => Deno.readTextFile(path);

/** What runs a file, such as `["deno", "run", "-A"]`, and its environment. */
export type Runtime = { run: [program: string, ...args: string[]]; env?: Record<string, string> };

/** Runs a program in the app's folder with this input as its argument. Returns what it has printed. */
async function runText(app: string, { run: [program, ...args], env }: Runtime, text: string, input: object) {
  await Deno.writeTextFile(`${app}/program.mjs`, text);
  const { code, said, error, output } = await runProgram(
    program,
    [...args, "program.mjs", JSON.stringify(input)],
    env,
    app,
  ).ended;
  expect([code, code === 0 ? "" : output]).toEqual([0, ""]);
  return { said, error };
}

/** The journey as an app has it. */
export const journey = (await read(`${ROOT}test/support/client/journey.ts`)).replace(
  "../../../client/index.ts",
  "keyframe-client",
);

/** What the journey starts with: a new user who has nothing yet, an image and a receiver. */
export async function newTraveller(): Promise<JourneyInput> {
  const { url, publishableKey } = inject("stack");
  const [{ session }, receiver] = await Promise.all([newPerson(), startFlowReceiver(answers(204))]);
  onTestFinished(receiver.close);
  const image = [...(await drawImage())];
  return { url, apikey: publishableKey, token: session.access_token, hookUrl: receiver.url, image };
}

export async function expectJourneyIn(app: string, runtime: Runtime): Promise<void> {
  await Deno.writeTextFile(`${app}/journey.js`, (await transformWithOxc(journey, "journey.ts")).code);
  const text = `import process from "node:process";
import { journey } from "./journey.js";
console.log(JSON.stringify(await journey(JSON.parse(process.argv[2]))));`;
  const { said, error } = await runText(app, runtime, text, await newTraveller());
  expect(error).toBe("");
  expectJourney(JSON.parse(said));
}

/** The example of client/README.md: shows progress, then a file. The app has supabase-js. */
export async function expectReadmeExampleIn(app: string, runtime: Runtime): Promise<void> {
  const readme = await read(`${ROOT}client/README.md`);
  const [, example = ""] = /^```js\n(.*?)^```$/ms.exec(readme) ?? [];
  const [line = "", option = ""] =
    /createClient\(url, publishableKey\); \/\/ on Node 20.*: …, (\{.+\})\);$/m.exec(example) ?? [];
  expect(line).not.toBe("");
  const text = `import process from "node:process";
const { url, publishableKey, email, password, image } = JSON.parse(process.argv[2]);
const photo = new Blob([new Uint8Array(image)]);
const signal = AbortSignal.timeout(60_000);
const show = (...what) => console.log(JSON.stringify(what));
${example.replace(line, `createClient(url, publishableKey${onlyOnNode20(option)});`)}
await supabase.auth.stopAutoRefresh();`;
  const { url, publishableKey } = inject("stack");
  const { email, password } = await newPerson();
  const input = { url, publishableKey, email, password, image: [...(await drawImage())] };
  const { said } = await runText(app, runtime, text, input);
  const shown = said
    .trim()
    .split("\n")
    .map((one): unknown[] => JSON.parse(one));
  expect(shown[0]?.[0]).toBe("queued");
  expect(shown.at(-2)?.slice(0, 2)).toEqual(["succeeded", 1]);
  const file = await fetch(String(shown.at(-1)?.[0]));
  expect([file.status, (await file.arrayBuffer()).byteLength > 1000]).toEqual([200, true]);
}

/** The README's option for Node 20, given there alone. */
const onlyOnNode20 = (option: string) => `, ...("WebSocket" in globalThis ? [] : [${option}])`;

const refused = (code: string, status: number, fields: string[] = []) => ({ code, status, fields, hasRequestId: true });

export function expectJourney(report: JourneyReport): void {
  const { made, ended, refusals, secret, usage } = report;
  for (const { step, status, statuses, downloaded, output } of made) {
    expect([step, status, statuses[0], statuses.at(-1)]).toEqual([step, "succeeded", "queued", "succeeded"]);
    expect(downloaded).toBe(output.bytes);
  }
  const [first, last, video] = made;
  expect(video?.output.durationSeconds).toBeCloseTo(5, 0);
  expect(video?.cost?.amountMicros).toBe(report.estimateMicros);
  expect(report.steps.map(({ models }) => models.find((one) => one.isDefault)?.model)).toEqual(
    made.map(({ model }) => model),
  );

  expect(report.changed).toEqual(refused("precondition_failed", 412)); // another first frame is the latest
  const ids = (predictions: (ShotPrediction | null | undefined)[]) => predictions.map((one) => one?.predictionId);
  expect(report.again.predictionId).toBe(ended.predictionId);
  expect([ended.status, ...report.reads]).toEqual(Array(5).fill("succeeded"));
  expect(ids(report.listed)).toEqual(ids([ended, video, last, first]));
  expect([report.projects.length, report.title, report.hidden]).toEqual([1, "Harbour, second draft", true]);
  const { predictions, shots } = report;
  expect(ids([predictions["first-frame"], predictions.video])).toEqual(ids([ended, video]));
  expect(report.elements).toEqual([expect.objectContaining({ elementId: report.elementIds[0], text: "Red" })]);
  expect([report.lacking, report.filled]).toEqual([[], []]);
  expect([report.films.length, shots.length, ...ids([shots[0]?.takes.video])]).toEqual([1, 1, video?.predictionId]);
  expect(report.shared).toEqual(["The pier", "Harbour, second draft", true, 1, refused("not_found", 404)]);
  expect(usage.groups.map(({ predictions: runs }) => runs)).toEqual([2, 1, 1]);

  expect(report.key.slice(0, 19)).toBe(report.keys[0]?.keyId);
  expect(report.keys).toEqual([expect.objectContaining({ name: "Script", may: "read", expiresAt: report.keyEnd })]);
  expect(report.shown.secret).toBe(secret);
  expect(report.rotated.secret).not.toBe(secret);
  expect(report.deliveries).toHaveLength(5); // four ends and a test
  expect(report.delivery).toMatchObject({ deliveryId: report.test.deliveryId, eventType: "webhook.test" });
  expect([report.webhooks.length, report.paused.enabled]).toEqual([1, false]);

  expect(refusals).toEqual({
    empty: refused("invalid_request", 400, ["title", "textPrompt"]),
    foreign: refused("not_found", 404),
    gone: refused("not_found", 404),
    late: refused("generation_ended", 409),
    mismatch: refused("idempotency_mismatch", 422),
    noImage: refused("unsupported_media_type", 415),
    unauthorized: refused("unauthorized", 401),
    wait: refused("not_found", 404),
    aborted: "left",
  });
  expect(report.afterwards).toEqual(refused("not_found", 404));
}
