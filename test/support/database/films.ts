import type { ClonedDatabase } from "./clone-database.ts";
import { call } from "./webhooks.ts";

/** create_film as the api function calls it; its id. */
export const addFilm = async (db: ClonedDatabase, owner: string): Promise<string> =>
  (await call<{ film: { id: string } }>(db, owner, "create_film", { title: "The pier" })).film.id;

/** create_project as the api function calls it, as the last shot of a film; its id. */
export async function addShot(
  db: ClonedDatabase,
  owner: string,
  film: string | null,
  texts: { title?: string; text_prompt?: string } = {},
): Promise<string> {
  const args = { title: "Shot", text_prompt: "A pier", film_id: film, ...texts };
  return (await call<{ project: { id: string } }>(db, owner, "create_project", args)).project.id;
}
