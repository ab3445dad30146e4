import type { KeyframeClient, Project } from "../../../client/index.ts";
import { unless } from "../ui/errors.ts";

type Fields = Parameters<KeyframeClient["createProject"]>[0];
type Options = Parameters<KeyframeClient["createProject"]>[1];

/** Creates a project with a reference image, in a film after a shot. */
export async function createShot(
  keyframe: KeyframeClient,
  fields: Fields,
  before: Pick<Project, "projectId" | "referenceImagePath"> | undefined,
  once: Options,
): Promise<Project> {
  const project = await keyframe.createProject(fields, once);
  const { referenceImagePath = null } = before ?? {};
  if (referenceImagePath !== null) await keyframe.changeProject(project.projectId, { referenceImagePath });
  if (fields.filmId && before) await moveBehind(keyframe, fields.filmId, project.projectId, before.projectId);
  return project;
}

/** Moves the last shot of a film after another one. If someone else changes the film at the same time, it stays the last. */
async function moveBehind(keyframe: KeyframeClient, filmId: string, projectId: string, after: string): Promise<void> {
  const film = await keyframe.films.read(filmId);
  const others = film.projectIds.filter((id) => id !== projectId);
  const place = others.indexOf(after) + 1;
  if (place === 0 || place === others.length) return;
  await keyframe.films
    .change(filmId, { projectIds: others.toSpliced(place, 0, projectId) }, { unchangedSince: film })
    .catch(unless("precondition_failed"));
}
