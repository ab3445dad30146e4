import { pause } from "../../shared/platform/retry.ts";
import { quantile } from "../bench/measure.ts";
import { learnSecrets } from "./endpoint-actions.ts";
import type { ChaosResult } from "./report.ts";
import type { Scenario } from "./scenario.ts";
import { addOwners, createProjects, startFrames } from "./scenario-actions.ts";
import { SCENARIOS } from "./scenarios.ts";
import { readProblems, type World } from "./world.ts";

/** How much later 95 of 100 events arrive than 95 of 100 just before a scenario, unless it has another bound. */
const LATER_MS = 300;
/** If events take longer than this without a scenario, the machine is busy and its figures mean little: then this is the bound. */
const QUIET_P95_MS = 150;
const BUSY_P95_MS = 1_500;

/** How long a scenario lasts unless it says more, and how long is measured before it. */
const SCENARIO_MS = 20_000;
const ALONE_MS = 8_000;
const HEALTH_EVERY_MS = 1_000;
/** About 200 events, or 50 frames, in a scenario, and two fifths of that before it: enough for the 95th of 100. */
const PROJECT_EVERY_MS = 100;
const FRAME_EVERY_MS = 400;
const READ_EVERY_MS = 200;
/** They take turns: a user with continuous events would wait like everyone in a crowd. */
const OTHER_USERS = 50;
/** After these their endpoints count as quick. */
const QUICK_ANSWERS = 5;
/** The time by which every event must have arrived: later than a worker's lease and a sweep. */
const ARRIVAL_MS = 30_000;

/**
 * Runs scenarios without other faults, and measures how long the events of users who have nothing to do with them take from their commit
 * to their receiver.
 */
export async function measureIsolation(
  world: World,
  names: readonly string[],
  { figures, verdicts, remarks }: ChaosResult,
  say: (line: string) => void,
): Promise<void> {
  for (const name of names) {
    const scenario = SCENARIOS[name];
    if (!scenario) continue;
    const { alone, during, p95, p95Alone, bound, isBusy, broken } = await measureScenario(world, scenario);
    if (isBusy)
      remarks.push(
        `${name}: THE MACHINE WAS BUSY. Without the scenario the p95 was already ${p95Alone} ms, so ${bound} ms was the bound.`,
      );
    say(`${name}: other users' p95 is ${p95} ms, and was ${p95Alone} ms without it`);
    figures[`${name}: other users' p95 in ms, of ${during.delays.length} events`] = p95;
    figures[`${name}: the same without the scenario, of ${alone.delays.length}`] = p95Alone;
    const sentence = `other users' events arrive within ${bound} ms (p95) in this scenario: ${scenario.sentence}`;
    verdicts.push({ name: `isolation_${name}`, sentence, broken });
  }
}

/** Times are in ms; without the scenario: alone. */
export async function measureScenario(world: World, scenario: Scenario) {
  const { sql, receivers } = world;
  const { laterMs = LATER_MS } = scenario;
  const { alone, during, wrong, problems } = await measure(world, scenario).finally(async () => {
    receivers.reset();
    await sql`delete from auth.users where email like 'scenario-%'`;
    receivers.unverified.length = 0; // these secrets were never read
    receivers.received.clear();
    receivers.arrivals = 0;
  });
  const p95Of = ({ delays }: typeof alone) => Math.round(quantile(delays, 0.95));
  const [p95, p95Alone] = [p95Of(during), p95Of(alone)];
  const isBusy = laterMs === LATER_MS && p95Alone > QUIET_P95_MS;
  const bound = isBusy ? BUSY_P95_MS : p95Alone + laterMs;
  const late = p95 < bound ? [] : [`the p95 of ${during.delays.length} events is ${p95} ms`];
  const broken = [...late, ...wrong, ...judgeHealth(scenario.health, problems, p95Alone > QUIET_P95_MS)];
  return { alone, during, p95, p95Alone, bound, isBusy, broken, problems };
}

/** The delays of the other users' events and answers in ms, without and then during the scenario, and what else went wrong. */
async function measure(world: World, { startsFrames, lastsMs = SCENARIO_MS, open }: Scenario) {
  const run = await open(world);
  const mark = crypto.randomUUID();
  const owners = await addOwners(world, OTHER_USERS, 1, "well", { mark });
  await learnSecrets(world, `${mark}-0`);
  const arrived = new Map<string, number>();
  world.receivers.onEvent = ({ predictionId, projectId }) => {
    arrived.set(predictionId ?? projectId, performance.now());
  };
  const untilArrived = async (ids: string[]) => {
    const end = performance.now() + ARRIVAL_MS;
    while (performance.now() < end && ids.some((id) => !arrived.has(id))) await pause(50);
  };
  const projects = await createProjects(world, owners, 1);
  await untilArrived(projects.concat(await createProjects(world, owners, QUICK_ANSWERS - 1)));
  let turn = 0;
  const send = async (): Promise<string> => {
    const at = turn++ % OTHER_USERS;
    const made = startsFrames
      ? await startFrames(world, projects.slice(at, at + 1))
      : await createProjects(world, owners.slice(at, at + 1), 1);
    return made[0] ?? "";
  };
  const everyMs = startsFrames ? FRAME_EVERY_MS : PROJECT_EVERY_MS;
  const sendEvents = async (over: AbortSignal) => {
    const sent = new Map<string, number>();
    while (!over.aborted) {
      const began = performance.now();
      sent.set(await send(), began);
      await pause(everyMs * (0.5 + Math.random()));
    }
    await untilArrived([...sent.keys()]);
    return [...sent].map(([id, began]) => (arrived.get(id) ?? performance.now()) - began);
  };
  const observe = async (over: AbortSignal) => {
    const [delays, answers] = await Promise.all([sendEvents(over), readProjects(world, over)]);
    return { delays, answers };
  };
  const alone = await observe(AbortSignal.timeout(ALONE_MS));
  const over = AbortSignal.timeout(lastsMs);
  const parts = [observe(over), run(over), watchHealth(world, over)] as const;
  await Promise.allSettled(parts); // when one fails, the others must not go on in the next scenario
  const [during, wrong, problems] = await Promise.all(parts);
  return { alone, during, wrong, problems };
}

/** How long each answer of `api` takes for another user, in ms. */
async function readProjects({ stack }: World, over: AbortSignal): Promise<number[]> {
  const headers = {
    apikey: stack.keys.publishableKey,
    authorization: `Bearer ${stack.demoSession.access_token}`,
  };
  const took: number[] = [];
  while (!over.aborted) {
    const began = performance.now();
    const response = await fetch(`${stack.url}/functions/v1/api/projects?limit=1`, { headers }).catch(() => undefined);
    await response?.body?.cancel();
    took.push(performance.now() - began);
    await pause(READ_EVERY_MS, over);
  }
  return took;
}

/** The problems that health reports until the scenario is over. */
async function watchHealth(world: World, over: AbortSignal): Promise<string[]> {
  const said = new Set<string>();
  while (!over.aborted) {
    for (const problem of await readProblems(world)) said.add(problem);
    await pause(HEALTH_EVERY_MS, over);
  }
  return [...said];
}

/** Whether health reported the expected problem. On a busy machine, mere load is a problem. */
function judgeHealth(expected: Scenario["health"], problems: string[], isBusy: boolean): string[] {
  if (expected === "ok") return isBusy ? [] : problems.map((problem) => `health says ${problem}`);
  if (expected === undefined || problems.some((problem) => expected.test(problem))) return [];
  return [`health does not say ${expected}, but ${JSON.stringify(problems)}`];
}
