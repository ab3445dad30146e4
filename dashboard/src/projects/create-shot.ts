import type { KeyframeClient, Project } from "../../../client/index.ts";
import { mutationKeys } from "../queries/query-keys.ts";
import { useOnce } from "../queries/use-once.ts";
import type { Once } from "../services.ts";
import { notifyError } from "../ui/Notices.tsx";
import { unless } from "../ui/errors.ts";

type Fields = Parameters<KeyframeClient["projects"]["create"]>[0];

/** A title has at most 200 characters. */
export const copyTitle = (title: string) => `${[...title].slice(0, 193).join("")} (copy)`;

/** The fields of a copy of a project. Takes are not copied. */
export const copyOf = ({ title, textPrompt, description, aspectRatio, elementIds, plan, filmId }: Project) => ({
  title,
  textPrompt,
  description,
  aspectRatio,
  elementIds,
  plan,
  filmId: filmId ?? undefined,
});

/** Makes one copy for each press. A toast says why a copy failed. */
export function useDuplicate<Copy>(
  id: string,
  title: string,
  ...[make, onDone]: Parameters<typeof useOnce<void, Copy>>
) {
  const { isPending, mutate } = useOnce(make, onDone, mutationKeys.duplicate(id));
  const onError = (error: Error) => notifyError(`Could not duplicate “${title}”`, error);
  return () => !isPending && mutate(undefined, { onError });
}

/** Creates a project, once for each version of `other`, with its reference image. In a film, it follows `other`, or is the last shot. */
export async function createShot(
  keyframe: KeyframeClient,
  fields: Fields,
  { idempotencyKey }: Once,
  other: Partial<Pick<Project, "projectId" | "referenceImagePath" | "updatedAt">> = {},
): Promise<Project> {
  const { projectId: behind, referenceImagePath, updatedAt = "" } = other;
  const project = await keyframe.projects.create(fields, { idempotencyKey: idempotencyKey + updatedAt });
  if (referenceImagePath) await keyframe.projects.change(project.projectId, { referenceImagePath });
  if (fields.filmId && behind) await moveBehind(keyframe, fields.filmId, project.projectId, behind);
  return project;
}

/** Moves a film's last shot after another one. If somebody changes the film at the same time, the shot stays last. */
async function moveBehind(keyframe: KeyframeClient, filmId: string, projectId: string, after: string): Promise<void> {
  const film = await keyframe.films.read(filmId);
  const others = film.projectIds.filter((id) => id !== projectId);
  const place = others.indexOf(after) + 1;
  if (place === 0 || place === others.length) return;
  await keyframe.films
    .change(filmId, { projectIds: others.toSpliced(place, 0, projectId) }, { unchangedSince: film })
    .catch(unless("precondition_failed"));
}
