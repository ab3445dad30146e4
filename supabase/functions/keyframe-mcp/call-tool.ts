import type { CallToolResult } from "@modelcontextprotocol/server";
import { z } from "zod";
import { invalidRequest, issueSentence, unknownField } from "../../../shared/api/errors.ts";
import { OPERATIONS, type OperationId } from "../../../shared/contract/operations/index.ts";
import type { Operation } from "../../../shared/contract/operations/operation.ts";
import { prediction } from "../../../shared/contract/predictions.ts";
import type { ErrorDetail } from "../../../shared/http/errors.ts";
import { asText, type CallOperation, type From, type Outcome } from "./call-operation.ts";
import { type PictureAccess, type createReadPictures, outputsOf } from "./pictures.ts";
import { refuse, refused, succeed } from "./results.ts";
import { shorten } from "./shorten.ts";
import { fieldsOf, partsOf, TOOLS, type Tool } from "./tools.ts";

type Deps = {
  callOperation: CallOperation;
  readPictures: ReturnType<typeof createReadPictures>;
  elapsed: () => number;
  sleep: (ms: number, signal: AbortSignal) => Promise<void>;
};
/** Reports the progress of a wait. Each report restarts the client's time limit. */
type Notify = (progress: { progress: number; message: string }) => Promise<void>;

/** Proxies that buffer answers wait 30 seconds for one, most clients 60. */
const WAIT_MS = 25_000;
const LOOK_MS = 5_000;
/** The minimum time between two reads, if the API does not hold them. */
const PAUSE_MS = 1_000;
/** In an answer with many files only the first ones have links. wait gives the link of any other. */
const MAX_LINKS = 4;

const READS: Record<string, OperationId> = {
  "first-frame": "readFirstFrame",
  "last-frame": "readLastFrame",
  video: "readVideo",
};

/** What a wait reports of a prediction. */
const waitState = prediction.pick({ status: true, progress: true, queuePosition: true, completedAt: true });

export async function callTool(
  name: string,
  args: Record<string, unknown>,
  from: From,
  notify: Notify,
  access: PictureAccess | undefined,
  deps: Deps,
): Promise<CallToolResult> {
  const tool = Object.hasOwn(TOOLS, name) ? TOOLS[name] : undefined;
  if (tool === undefined) return refused("There is no such tool. tools/list has their names.");
  const { operation, fixedFields, waits, showsFiles, toArguments } = tool;
  const details = problemsOf(tool, args);
  if (details.length > 0) {
    const message = `Correct these arguments and call ${name} again. Its arguments are ${fieldsOf(tool).join(", ")}.`;
    return refuse({ code: "invalid_request", message, details, requestId: from.requestId }, null);
  }
  const { updatedAt } = args;
  const version = typeof updatedAt === "string" ? { headers: { "if-match": `"${updatedAt}"` } } : {};
  const outcome = waits
    ? await wait(args, from, notify, deps)
    : await deps.callOperation(
        operation,
        { ...(toArguments?.(args) ?? args), ...fixedFields },
        { ...from, ...version },
      );
  if (!outcome.success) return refuse(outcome.error, outcome.retryAfter);
  const files = showsFiles ? outputsOf(outcome.data).slice(0, MAX_LINKS) : [];
  const pictures = await deps.readPictures(files, access, from.signal);
  return succeed(shorten(operation, outcome.data, args), files, pictures);
}

/** Reads a prediction until it has ended or the time is over. */
async function wait(args: Record<string, unknown>, from: From, notify: Notify, deps: Deps): Promise<Outcome> {
  const { step, ...which } = args;
  const operation = READS[String(step)] ?? "readVideo"; // it was checked
  const began = deps.elapsed();
  for (;;) {
    const lookedAt = deps.elapsed();
    const holdMs = Math.min(LOOK_MS, WAIT_MS - (lookedAt - began));
    const held = { ...from, headers: { prefer: `wait=${Math.max(0, Math.floor(holdMs / 1000))}` } };
    const outcome = await deps.callOperation(operation, which, held);
    const passed = deps.elapsed() - began;
    if (!outcome.success) return outcome;
    const { status, progress, queuePosition, completedAt } = waitState.parse(outcome.data);
    if (completedAt !== null || passed >= WAIT_MS || from.signal.aborted) return outcome;
    const done = progress === null ? "" : `, ${Math.round(progress * 100)} %`;
    const place = queuePosition === null || queuePosition === 0 ? "" : `, position ${queuePosition}`;
    await notify({ progress: Math.ceil(passed / 1000), message: `${step}: ${status}${done}${place}` });
    await deps.sleep(Math.max(0, PAUSE_MS - (deps.elapsed() - lookedAt)), from.signal);
  }
}

/** A longer list would fill an agent's context. */
const MAX_UNKNOWN = 10;

/** All problems of a tool's arguments at once: the API would report the path first, then the body. */
function problemsOf(tool: Tool, args: Record<string, unknown>): ErrorDetail[] {
  const known = fieldsOf(tool);
  const unknown = Object.keys(args)
    .filter((name) => !known.includes(name))
    .slice(0, MAX_UNKNOWN)
    .map((name) => ({ path: name.slice(0, 100), message: unknownField(name, known) }));
  const given = { ...Object.fromEntries(known.map((name) => [name, args[name]])), ...tool.fixedFields };
  const { query }: Operation = OPERATIONS[tool.operation];
  const issues = partsOf(tool).flatMap((part) => {
    const own = Object.entries(given).filter(([name, value]) => name in part.shape && value !== undefined);
    const sent = own.map(([name, value]) => [name, part === query ? asText(value) : value]);
    return part.safeParse(Object.fromEntries(sent), { error: issueSentence }).error?.issues ?? [];
  });
  return [...unknown, ...(invalidRequest(new z.ZodError(issues)).extra.details ?? [])];
}
