import { z } from "zod";
import { createProjectBody, type Project } from "../../../shared/contract/projects.ts";
import { madeHeaders, madeOnce } from "./answer-headers.ts";
import type { Needs, UserCall } from "./call.ts";
import { readIdempotency } from "./idempotency.ts";
import { readJson } from "./request-body.ts";
import { noQuery, readQuery } from "./request-query.ts";
import type { Answer } from "./respond.ts";
import { isoTime } from "./time.ts";

const projectRow = z.object({
  id: z.string(),
  title: z.string(),
  text_prompt: z.string(),
  description: z.string(),
  created_at: isoTime,
  updated_at: isoTime,
});
const created = madeOnce.extend({ project: projectRow });

/** POST /api/projects → 201 with the project. */
export async function createProject({ request, url, session }: UserCall, { database }: Needs): Promise<Answer> {
  readQuery(url, noQuery);
  const body = await readJson(request, createProjectBody);
  const args = {
    title: body.title,
    text_prompt: body.textPrompt,
    description: body.description,
    ...(await readIdempotency(request, url.pathname, body)),
  };
  const answer = await database("create_project", args, session.token, created);
  return { status: 201, data: toProject(answer.project), headers: madeHeaders(answer) };
}

const toProject = (row: z.infer<typeof projectRow>): Project => ({
  projectId: row.id,
  title: row.title,
  textPrompt: row.text_prompt,
  description: row.description,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
});
