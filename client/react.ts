"use client";
import {
  createContext,
  createElement,
  type ReactElement,
  type ReactNode,
  useContext,
  useMemo,
  useSyncExternalStore,
} from "react";
import type { KeyframeClient } from "./index.ts";
import { type Store, storeOf } from "./react-store.ts";
import { IDLE, LOADING, type Read, type SharedReads } from "./shared-read.ts";
import type {
  FilmWithShots,
  ModelList,
  Prediction,
  PredictionPage,
  ProjectWithPredictions,
  QueryOf,
  Step,
  Usage,
} from "./types.ts";
import type { PredictionRef } from "./wait-for.ts";

export type { Read } from "./shared-read.ts";

/** `refetch` reads again at once, also after a failure; files get new URLs. */
export type Shown<Data> = Read<Data> & { refetch: () => void };

/** An id, or nothing while it is not known yet: then the status is `idle`. */
type MaybeId = string | null | undefined;

const StoreContext = createContext<Store | null>(null);

/**
 * Gives the hooks their client, made once for each user, on a server for each request. A provider and not an argument: then no component
 * imports a client, and a test or a request gives another one.
 */
export function KeyframeProvider({ client, children }: { client: KeyframeClient; children?: ReactNode }): ReactElement {
  return createElement(StoreContext.Provider, { value: storeOf(client) }, children);
}

function useStore(): Store {
  const store = useContext(StoreContext);
  if (store === null) throw new Error("Wrap the page in <KeyframeProvider client={…}>: the hooks use its client.");
  return store;
}

/**
 * The provider's client. What it starts, cancels, changes or deletes is shown by the hooks at once; what another client changes, they show
 * when the page becomes visible again.
 */
export const useKeyframe = (): KeyframeClient => useStore().keyframe;

/** A project with the latest prediction and the take that each step shows. Follows the predictions that run. */
export const useProject = (projectId: MaybeId): Shown<ProjectWithPredictions> =>
  useShown(useStore().projects, projectId || null);

/** One page of a project's predictions, newest first, without hidden ones. Follows those that run. */
export const usePredictions = (
  projectId: MaybeId,
  { step, status, hidden, limit, cursor }: QueryOf<"listPredictions"> = {},
): Shown<PredictionPage> =>
  useShown(useStore().pages, projectId ? JSON.stringify([projectId, { step, status, hidden, limit, cursor }]) : null);

/**
 * A film with its shots in order, each as useProject has it, but without `input.elements`. Read again when a prediction ends that a hook
 * follows.
 */
export const useFilm = (filmId: MaybeId): Shown<FilmWithShots> => useShown(useStore().films, filmId || null);

/** The models of each step with what they take: build a form from it. */
export const useModels = (): Shown<ModelList> => useShown(useStore().models, "models");

/**
 * What the user's generations have cost, and the budgets: of this month, or from `from` to `to` (days as YYYY-MM-DD, inclusive). Read again
 * when a prediction starts or ends that a hook follows.
 */
export const useUsage = ({ from, to, groupBy }: QueryOf<"readUsage"> = {}): Shown<Usage> =>
  useShown(useStore().usage, JSON.stringify({ from, to, groupBy }));

/**
 * The latest prediction of a project's step, null when none was started; with predictionId that one. Follows it until it ends. `progress`:
 * from 0 to 1, null when unknown.
 */
export function usePrediction(
  projectId: MaybeId,
  step: Step,
  predictionId?: string,
): Shown<Prediction | null> & { progress: number | null } {
  const { projects, predictions } = useStore();
  const ref = useMemo(
    (): PredictionRef | null => (projectId && predictionId ? { projectId, step, predictionId } : null),
    [projectId, step, predictionId],
  );
  const one = useShown(predictions, ref);
  const project = useShown(projects, (predictionId === undefined && projectId) || null);
  const shown = predictionId === undefined ? { ...project, data: project.data?.predictions[step] } : one;
  return { ...shown, progress: shown.data?.progress ?? null };
}

/** On a server it is loading, and reads nothing. */
function useShown<Ref extends string | PredictionRef, Data>(
  reads: SharedReads<Ref, Data>,
  ref: Ref | null,
): Shown<Data> {
  const { subscribe, getState, getServerState, refetch } = useMemo(
    () => ({
      subscribe: (listener: () => void) => (ref === null ? () => undefined : reads.subscribe(ref, listener)),
      getState: (): Read<Data> => (ref === null ? IDLE : (reads.get(ref)?.state ?? LOADING)),
      getServerState: (): Read<Data> => (ref === null ? IDLE : LOADING),
      refetch: () => ref !== null && reads.get(ref)?.readAgain({ withNewUrls: true }),
    }),
    [reads, ref],
  );
  return { ...useSyncExternalStore(subscribe, getState, getServerState), refetch };
}
