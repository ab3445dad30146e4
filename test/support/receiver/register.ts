import type postgres from "postgres";
import type { z } from "zod";
import { project } from "../../../shared/contract/projects.ts";
import { createdWebhook } from "../../../shared/contract/webhooks.ts";
import type { FilmMaker } from "../film/film-maker.ts";

type Registered = z.output<typeof createdWebhook>;

/** Registers an address as an app does; `fields` as POST /api/webhooks has them. */
export const register = (
  by: Pick<FilmMaker, "call">,
  url: string,
  fields: Record<string, unknown> = {},
): Promise<Registered> => by.call(createdWebhook, "POST", "/api/webhooks", { url, ...fields });

/** Creates so many projects, one after the other: as many project.created. Returns their ids in order. */
export async function createProjects(by: Pick<FilmMaker, "call">, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let number = 1; number <= count; number++) {
    const body = { title: `Harbour ${number}`, textPrompt: "A harbour at dawn, Häfen 🎬" };
    ids.push((await by.call(project, "POST", "/api/projects", body)).projectId);
  }
  return ids;
}

/** Creates so many projects of a user in one statement. */
export async function insertProjects(
  sql: postgres.Sql | postgres.TransactionSql,
  ownerId: string,
  count: number,
): Promise<void> {
  await sql`
    insert into keyframe.projects (owner_id, title, text_prompt)
    select ${ownerId}, 'Harbour ' || number, repeat('A harbour at dawn. ', 30) from generate_series(1, ${count}::int) number`;
}
