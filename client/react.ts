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
import { keyOf, type Store, storeOf } from "./react-store.ts";
import { mustBeStep } from "./routes.ts";
import { IDLE, LOADING, type Read, type SharedReads } from "./shared-read.ts";
import type {
  Balance,
  Element,
  ElementPage,
  FilmWithShots,
  ModelList,
  Prediction,
  PredictionPage,
  ProjectWithPredictions,
  QueryOf,
  Step,
  Usage,
} from "./types.ts";

export type { Read } from "./shared-read.ts";

/** `refetch` reads again at once, even after a failure; files get new URLs. */
export type HookResult<Data> = Read<Data> & { refetch: () => void };

/** An id, or nothing while it is unknown: then the status is `idle`. */
type MaybeId = string | null | undefined;

export type HookOptions<Data> = {
  /**
   * Data that a server has read for this page: shown at once, even in the server-rendered page, until the browser has read it. It must have
   * the same id and query as the hook.
   */
  initialData?: Data | undefined;
};

const StoreContext = createContext<Store | null>(null);

/**
 * Passes the client to the hooks. Create the client once per user, on a server once per request. A provider is used instead of an argument,
 * so that no component imports a client, and a test or a request can pass another one.
 */
export function KeyframeProvider({ client, children }: { client: KeyframeClient; children?: ReactNode }): ReactElement {
  return createElement(StoreContext.Provider, { value: storeOf(client) }, children);
}

function useStore(): Store {
  const store = useContext(StoreContext);
  if (store === null) throw new Error("Wrap the page in <KeyframeProvider client={…}>. The hooks use its client.");
  return store;
}

/**
 * The provider's client. The hooks show its starts, cancels, changes and deletions at once; they show another client's changes
 * when the page becomes visible again.
 */
export const useKeyframe = (): KeyframeClient => useStore().keyframe;

/** A project with the latest prediction and the take that each step shows. Follows the predictions that run. */
export const useProject = (projectId: MaybeId, { initialData }: HookOptions<ProjectWithPredictions> = {}) =>
  useReadOr(useStore().projects, projectId || null, initialData);

/**
 * One page of a project's predictions, newest first, without hidden ones. Follows the running ones. With `status: "succeeded"` it has only
 * takes, and a prediction that succeeds is added.
 */
export const usePredictions = (
  projectId: MaybeId,
  { step, status, hidden, limit, cursor }: QueryOf<"listPredictions"> = {},
  { initialData }: HookOptions<PredictionPage> = {},
) => {
  const key = projectId ? JSON.stringify([projectId, { step, status, hidden, limit, cursor }]) : null;
  return useReadOr(useStore().pages, key, initialData);
};

/**
 * A film with its shots in order, each as useProject has it, but without `input.elements`. While something runs in the film, it is read every
 * second or two, a long film at least every ten.
 */
export const useFilm = (filmId: MaybeId, { initialData }: HookOptions<FilmWithShots> = {}) =>
  useReadOr(useStore().films, filmId || null, initialData);

/** One page of the user's elements (characters, places, props and styles), newest first. A film's `elementIds` are its cast. */
export const useElements = (
  { limit, cursor }: QueryOf<"listElements"> = {},
  { initialData }: HookOptions<ElementPage> = {},
) => useReadOr(useStore().elementPages, JSON.stringify({ limit, cursor }), initialData);

/** One element. */
export const useElement = (elementId: MaybeId, { initialData }: HookOptions<Element> = {}) =>
  useReadOr(useStore().elements, elementId || null, initialData);

/** The models of each step with their controls: build a form from them. */
export const useModels = ({ initialData }: HookOptions<ModelList> = {}) =>
  useReadOr(useStore().models, "models", initialData);

/**
 * The cost of the user's generations, and the budgets, for this month or from `from` to `to` (days as YYYY-MM-DD, inclusive). It is read
 * again when a followed prediction starts or ends.
 */
export const useUsage = ({ from, to, groupBy }: QueryOf<"readUsage"> = {}, { initialData }: HookOptions<Usage> = {}) =>
  useReadOr(useStore().usage, JSON.stringify({ from, to, groupBy }), initialData);

/** The user's prepaid balance, null when the user does not pay in advance. Shares its read with useUsage(). */
export function useBalance({ initialData }: HookOptions<Balance | null> = {}): HookResult<Balance | null> {
  const usage = useUsage();
  return withInitial({ ...usage, data: usage.data?.balance }, initialData);
}

/**
 * The prediction with predictionId, or the latest one of a project's step; null when none was started. Follows it until it ends. `progress`:
 * from 0 to 1, null when unknown.
 */
export function usePrediction(
  projectId: MaybeId,
  step: Step,
  predictionId?: string,
  { initialData }: HookOptions<Prediction | null> = {},
): HookResult<Prediction | null> & { progress: number | null } {
  mustBeStep(step);
  const { projects, predictions } = useStore();
  const one = useRead(
    predictions,
    projectId && predictionId ? keyOf({ projectId, step, predictionId }) : null,
    initialData,
  );
  const project = useRead(projects, (predictionId === undefined && projectId) || null, initialData);
  const read = predictionId === undefined ? { ...project, data: project.data?.predictions[step] } : one;
  const result = withInitial(read, initialData);
  return { ...result, progress: result.data?.progress ?? null };
}

function useReadOr<Data>(
  reads: SharedReads<Data>,
  key: string | null,
  initialData: Data | undefined,
): HookResult<Data> {
  return withInitial(useRead(reads, key, initialData), initialData);
}

/** Gives the initial data until the first read has data, even if that read fails. */
function withInitial<Data>(read: HookResult<Data>, initialData: Data | undefined): HookResult<Data> {
  if (initialData === undefined || read.data !== undefined || read.status === "idle") return read;
  return { ...read, data: initialData, status: read.status === "loading" ? "ready" : read.status };
}

/** On a server the status is `loading`, and nothing is read. The files of `initialData` keep their URLs. */
function useRead<Data>(reads: SharedReads<Data>, key: string | null, initialData: unknown): HookResult<Data> {
  // biome-ignore lint/correctness/useExhaustiveDependencies: initial data counts once, for the key that it came with
  const { subscribe, getState, getServerState, refetch } = useMemo(
    () => ({
      subscribe: (listener: () => void) =>
        key === null ? () => undefined : reads.subscribe(key, listener, initialData),
      getState: (): Read<Data> => (key === null ? IDLE : (reads.get(key)?.state ?? LOADING)),
      getServerState: (): Read<Data> => (key === null ? IDLE : LOADING),
      refetch: () => key !== null && reads.get(key)?.readAgain({ withNewUrls: true }),
    }),
    [reads, key],
  );
  return { ...useSyncExternalStore(subscribe, getState, getServerState), refetch };
}
