import { z } from "zod";
import { id, text } from "./fields.ts";

/** Body of POST /api/projects. */
export const createProjectBody = z.strictObject({
  title: text(1, 200),
  textPrompt: text(1, 4000),
  description: text(0, 4000).default(""),
});

/** A project on the wire. Times are ISO 8601 in UTC. */
export const project = z.object({
  projectId: id,
  title: z.string(),
  textPrompt: z.string(),
  description: z.string(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
});
export type Project = z.infer<typeof project>;
