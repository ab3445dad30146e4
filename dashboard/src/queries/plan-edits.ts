import { hashKey, notifyManager, type QueryClient, useQueryClient } from "@tanstack/react-query";
import type { KeyframeClient, ProjectWithPredictions, ShotPlan, Step, UsedElement } from "../../../client/index.ts";
import { useServices } from "../services.ts";
import { draftNames, draftOf } from "../session/use-draft.ts";
import { useUserId } from "../session/use-session.ts";
import { useUserMemory } from "../session/UserMemory.tsx";
import { isChangedElsewhere, isGone } from "../ui/errors.ts";
import { showChanged } from "./project-queries.ts";
import { readAgain } from "./query-client.ts";
import { queryKeys } from "./query-keys.ts";

/** The settings of a step: its plan, a seed, and the elements of a repeated take. A video's plan can have the fields of all steps. */
export type StepOptions = NonNullable<ShotPlan["video"]> & {
  seed?: number | null | undefined;
  elements?: UsedElement[] | null | undefined;
};

/** A field that was changed here. Without a value, the choice was removed. */
export type Edit = { step: Step; field: keyof StepOptions; value?: StepOptions[keyof StepOptions] };

export const NO_EDITS: Edit[] = [];
const NAME = "edits ";
export const editsName = (projectId: string) => NAME + projectId;

/** A seed and the elements of a take belong to no plan. */
export const isPlanned = ({ field }: Edit) => field !== "seed" && field !== "elements";

export function withEdits(plan: ShotPlan, edits: Edit[], step: Step): StepOptions {
  const ofStep = edits.filter((edit) => edit.step === step);
  return { ...plan[step], ...Object.fromEntries(ofStep.map(({ field, value }) => [field, value])) };
}

export const unsavedOf = (edits: Edit[], plan: ShotPlan): Edit[] =>
  edits.filter(({ step, field, value }) => {
    const saved: StepOptions = plan[step] ?? {};
    return hashKey([{ value }]) !== hashKey([{ value: saved[field] }]);
  });

const TRIES = 3;

type Page = { keyframe: KeyframeClient; queries: QueryClient; userId: string };

/** Saves the edits of a project's plan, from this visit or an earlier one. */
async function saveEdits({ keyframe, queries, userId }: Page, projectId: string): Promise<void> {
  const { read, change } = draftOf(userId, editsName(projectId), NO_EDITS);
  if (read().length === 0) return change(() => NO_EDITS); // drops a damaged draft
  try {
    const known = queries.getQueryData<ProjectWithPredictions>(queryKeys.project(projectId));
    let saved: Pick<ProjectWithPredictions, "plan" | "updatedAt"> = known ?? (await keyframe.projects.read(projectId));
    for (let tries = 1; ; tries += 1) {
      const unsaved = unsavedOf(read(), saved.plan).filter(isPlanned);
      if (unsaved.length === 0) break;
      const plan = Object.fromEntries(unsaved.map(({ step }) => [step, withEdits(saved.plan, unsaved, step)]));
      try {
        const changed = await keyframe.projects.change(projectId, { plan }, { unchangedSince: saved });
        saved = changed;
        await showChanged(queries, changed);
        await new Promise<void>((resolve) => notifyManager.schedule(resolve)); // else a page shows the old plan without its edits
        void readAgain(queries);
        break;
      } catch (error) {
        if (!isChangedElsewhere(error) || tries === TRIES) throw error;
        saved = await keyframe.projects.read(projectId);
      }
    }
    change((now) => unsavedOf(now, saved.plan));
  } catch (error) {
    if (!isGone(error)) throw error;
    change(() => NO_EDITS);
  }
}

/** Saves the edits of these projects, by default of all. Rejects when they cannot be saved. */
export function useSavePlans(): (projectIds?: string[]) => Promise<void> {
  const { keyframe } = useServices();
  const queries = useQueryClient();
  const userId = useUserId();
  const { saving } = useUserMemory();
  return async (projectIds = editedProjects(userId)) => {
    const saves = projectIds.map((projectId) => {
      const before = saving.get(projectId) ?? Promise.resolve();
      const save = before.catch(() => undefined).then(() => saveEdits({ keyframe, queries, userId }, projectId));
      saving.set(projectId, save);
      return save;
    });
    await Promise.all(saves);
  };
}

const editedProjects = (userId: string) =>
  draftNames(userId).flatMap((name) => (name.startsWith(NAME) ? name.slice(NAME.length) : []));

/** The API for mutations that use plans. It saves the edits first, and rejects when that fails. A query must not use it. */
export function usePlanClient(): KeyframeClient {
  const { keyframe } = useServices();
  const userId = useUserId();
  const save = useSavePlans();
  const saveShots = async (filmId: string) => {
    if (editedProjects(userId).length > 0) await save((await keyframe.films.read(filmId)).projectIds);
  };
  const { projects, films } = keyframe;
  return {
    ...keyframe,
    projects: { ...projects, read: (id, options) => save([id]).then(() => projects.read(id, options)) },
    generate: (step, body, options) => save([body.projectId]).then(() => keyframe.generate(step, body, options)),
    films: {
      ...films,
      read: (id, options) => saveShots(id).then(() => films.read(id, options)),
      generate: (id, ...args) => saveShots(id).then(() => films.generate(id, ...args)),
      estimate: (id, ...args) => saveShots(id).then(() => films.estimate(id, ...args)),
    },
  };
}
