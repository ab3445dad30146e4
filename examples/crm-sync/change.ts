import { z } from "zod";

/** The change that one event makes in the CRM. */
export type Change = {
  ownerId: string;
  projectId: string;
  /** What the event is about. Of two events about the same part of a project, the one that happened later counts. */
  part: "project" | "first-frame" | "last-frame" | "video";
  /** When it happened: ISO 8601 in UTC with milliseconds, so that texts sort as times do. */
  at: string;
  /** The properties of the deal that it sets. */
  properties: Record<string, string>;
};

const ids = { projectId: z.string(), ownerId: z.string() };
const common = {
  timestamp: z.string(),
  data: z.object({ ...ids, step: z.enum(["first-frame", "last-frame", "video"]) }),
};

/** The used fields of an event: fields that are added later do no harm. */
const EVENTS = {
  "project.created": z.object({
    timestamp: z.string(),
    data: z.object({ ...ids, title: z.string(), textPrompt: z.string(), description: z.string() }),
  }),
  "generation.succeeded": z.object(common),
  "generation.failed": z.object({ ...common, error: z.object({ message: z.string() }) }),
};

/** The change of a verified body; null for a type without one. Throws when it is not an event of Keyframe. */
export function readChange(body: unknown): Change | null {
  const { type } = z.object({ type: z.string() }).parse(body);
  if (type === "project.created") {
    const { timestamp: at, data } = EVENTS[type].parse(body);
    const { projectId, ownerId, title, textPrompt, description } = data;
    const properties = { dealname: title, description, keyframe_text_prompt: textPrompt };
    return { projectId, ownerId, part: "project", at, properties };
  }
  if (type !== "generation.succeeded" && type !== "generation.failed") return null;
  const { timestamp: at, data } = EVENTS[type].parse(body);
  const { projectId, ownerId, step } = data;
  const outcome = type === "generation.failed" ? `failed: ${EVENTS[type].parse(body).error.message}` : "succeeded";
  return { projectId, ownerId, part: step, at, properties: { [`keyframe_${step.replace("-", "_")}`]: outcome } };
}
