import { z } from "zod";
import { invalidRequest, issueSentence, unknownField } from "../../../shared/api/errors.ts";
import { OPERATIONS } from "../../../shared/contract/operations/index.ts";
import type { Operation } from "../../../shared/contract/operations/operation.ts";
import type { ErrorDetail } from "../../../shared/http/errors.ts";
import { asText } from "./call-operation.ts";
import { fieldsOf, partsOf, type Tool } from "./tools.ts";

/** A longer list would fill an agent's context. */
const MOST_UNKNOWN = 10;

/** All problems of a tool's arguments at once: the API would report the path first, then the body. */
export function problemsOf(tool: Tool, args: Record<string, unknown>): ErrorDetail[] {
  const known = fieldsOf(tool);
  const unknown = Object.keys(args)
    .filter((name) => !known.includes(name))
    .slice(0, MOST_UNKNOWN)
    .map((name) => ({ path: name.slice(0, 100), message: unknownField(name, known) }));
  const given = { ...Object.fromEntries(known.map((name) => [name, args[name]])), ...tool.fixed };
  const { query }: Operation = OPERATIONS[tool.of];
  const issues = partsOf(tool).flatMap((part) => {
    const own = Object.entries(given).filter(([name, value]) => name in part.shape && value !== undefined);
    const sent = own.map(([name, value]) => [name, part === query ? asText(value) : value]);
    return part.safeParse(Object.fromEntries(sent), { error: issueSentence }).error?.issues ?? [];
  });
  return [...unknown, ...(invalidRequest(new z.ZodError(issues)).extra.details ?? [])];
}
