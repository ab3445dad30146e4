import type { CallToolResult } from "@modelcontextprotocol/server";
import type { OperationId } from "../../../shared/contract/operations/index.ts";
import { invalidFields } from "../../../shared/api/errors.ts";
import { type CallOperation, type From, type Outcome, refused } from "./call-operation.ts";
import type { PictureSpace } from "./picture-space.ts";
import { type createReadPictures, outputsOf } from "./pictures.ts";
import { refuse, succeed } from "./results.ts";
import { fieldsOf, TOOLS } from "./tools.ts";

type Deps = {
  callOperation: CallOperation;
  readPictures: ReturnType<typeof createReadPictures>;
  elapsed: () => number;
  sleep: (ms: number, signal: AbortSignal) => Promise<void>;
};
/** Says how a wait goes on. Clients begin their time limit anew with each. */
type Notify = (progress: { progress: number; message: string }) => Promise<void>;

/** Proxies that keep an answer until it is complete give it 30 seconds, most clients 60. */
const WAIT_MS = 25_000;
const LOOK_MS = 5_000;
/** The least time between two looks, where the API does not hold them. */
const PAUSE_MS = 1_000;
/** Of an answer with many files the first ones are named; all are in its data. */
const MAX_LINKS = 8;

const NO_FIELD = "There is no such field. Leave it out.";
const NO_STEP = "Must be first-frame, last-frame or video.";
const READS: Record<string, OperationId> = {
  "first-frame": "readFirstFrame",
  "last-frame": "readLastFrame",
  video: "readVideo",
};

/** Undefined: there is no such tool. */
export async function callTool(
  name: string,
  args: Record<string, unknown>,
  from: From,
  notify: Notify,
  space: PictureSpace | undefined,
  deps: Deps,
): Promise<CallToolResult | undefined> {
  const tool = Object.hasOwn(TOOLS, name) ? TOOLS[name] : undefined;
  if (tool === undefined) return undefined;
  const { of, fixed, waits, shows } = tool;
  const unknown = Object.keys(args).filter((field) => !fieldsOf(tool).includes(field));
  const outcome =
    unknown.length > 0
      ? refused(invalidFields(unknown.map((path) => ({ path: path.slice(0, 100), message: NO_FIELD }))), from.requestId)
      : waits
        ? await wait(args, from, notify, deps)
        : await deps.callOperation(of, { ...args, ...fixed }, from);
  if (!outcome.success) return refuse(outcome.error, outcome.retryAfter);
  const files = shows ? outputsOf(outcome.data).slice(0, MAX_LINKS) : [];
  const pictures = await deps.readPictures(files, from.authorization, from.signal, space);
  const { status, completedAt } = Object(outcome.data);
  const more = waits && completedAt === null ? [`It is ${status}. Call wait again with the same arguments.`] : [];
  return succeed(outcome.data, files, pictures, more);
}

/** Reads a prediction until it has ended or the time is over. */
async function wait(args: Record<string, unknown>, from: From, notify: Notify, deps: Deps): Promise<Outcome> {
  const { step, ...which } = args;
  const of = READS[String(step)];
  if (of === undefined) return refused(invalidFields([{ path: "step", message: NO_STEP }]), from.requestId);
  const began = deps.elapsed();
  for (;;) {
    const lookedAt = deps.elapsed();
    const holdMs = Math.min(LOOK_MS, WAIT_MS - (lookedAt - began));
    const held = { ...from, prefer: `wait=${Math.max(0, Math.floor(holdMs / 1000))}` };
    const outcome = await deps.callOperation(of, which, held);
    const passed = deps.elapsed() - began;
    if (!outcome.success || Object(outcome.data).completedAt !== null || passed >= WAIT_MS || from.signal.aborted)
      return outcome;
    const { status, progress, queuePosition } = Object(outcome.data);
    const done = typeof progress === "number" ? `, ${Math.round(progress * 100)} %` : "";
    const place = typeof queuePosition === "number" && queuePosition > 0 ? `, position ${queuePosition}` : "";
    await notify({ progress: Math.ceil(passed / 1000), message: `${step}: ${status}${done}${place}` });
    await deps.sleep(Math.max(0, PAUSE_MS - (deps.elapsed() - lookedAt)), from.signal);
  }
}
