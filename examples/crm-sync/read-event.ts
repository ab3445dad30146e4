import { z } from "zod";
import type { Change, Field } from "./crm.ts";

const common = { projectId: z.string(), ownerId: z.string() };
const step = z.enum(["first-frame", "last-frame", "video"]);

/** What is used of an event, and no more: a field that is added one day does no harm. */
const event = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("project.created"),
    timestamp: z.string(),
    data: z.object({ ...common, title: z.string(), textPrompt: z.string(), description: z.string() }),
  }),
  z.object({
    type: z.literal("generation.succeeded"),
    timestamp: z.string(),
    data: z.object({ ...common, step }),
  }),
  z.object({
    type: z.literal("generation.failed"),
    timestamp: z.string(),
    error: z.object({ message: z.string() }),
    data: z.object({ ...common, step }),
  }),
]);

const FIELD_OF_STEP: Record<z.infer<typeof step>, Field> = {
  "first-frame": "firstFrame",
  "last-frame": "lastFrame",
  video: "video",
};

/** The change of a verified body; null for a type without one. Throws when it is not an event of Keyframe. */
export function readEvent(body: unknown): Change | null {
  const { type } = z.object({ type: z.string() }).parse(body);
  if (!event.options.some(({ shape }) => shape.type.value === type)) return null;
  const parsed = event.parse(body);
  const { ownerId, projectId } = parsed.data;
  const about = { ownerId, projectId, at: parsed.timestamp };
  if (parsed.type === "project.created") {
    const { title, textPrompt, description } = parsed.data;
    return { ...about, part: "project", fields: { title, textPrompt, description } };
  }
  const status = parsed.type === "generation.failed" ? `failed: ${parsed.error.message}` : "succeeded";
  return { ...about, part: parsed.data.step, fields: { [FIELD_OF_STEP[parsed.data.step]]: status } };
}
