import { throwIfAborted } from "./clock.ts";
import { hasEnded, runningIn } from "./endings.ts";
import type { KeyframeClient } from "./index.ts";
import type { CallOptions } from "./operate.ts";
import { type Publish, SharedReads } from "./shared-read.ts";
import type {
  Element,
  Film,
  FilmWithShots,
  Prediction,
  PredictionPage,
  Project,
  ProjectWithPredictions,
  QueryOf,
  ShotPrediction,
} from "./types.ts";
import type { PredictionRef } from "./wait-for.ts";

type Answer = Film | Project | Prediction | Element;
/** What can change other reads: an answer, or a prediction of a film. */
type Changed = Answer | ShotPrediction;

/** The most rows of one read. */
const MAX_ROWS = 100;

export const keyOf = ({ projectId, step, predictionId }: PredictionRef): string =>
  JSON.stringify({ projectId, step, predictionId });

/** Reads data that is not followed. */
const readsOf = <Data>(read: (key: string, options: CallOptions) => Promise<Data>) =>
  new SharedReads<Data>(async (key, publish, signal) => publish(await read(key, { signal })));

export type Store = ReturnType<typeof createStore>;

const stores = new WeakMap<KeyframeClient, Store>();

/** One store per client, so that two users on one server share nothing. */
export function storeOf(client: KeyframeClient): Store {
  const store = stores.get(client) ?? createStore(client);
  stores.set(client, store);
  return store;
}

function createStore(client: KeyframeClient) {
  const models = readsOf((_, options) => client.models(options));
  const usage = readsOf((query, options) => client.usage(JSON.parse(query), options));
  const elements = readsOf(client.elements.read);
  const elementPages = readsOf((query, options) => client.elements.list(JSON.parse(query), options));

  /** Reads the whole film while something runs in it: that is one request, however many shots run. */
  const films = new SharedReads<FilmWithShots>(async (filmId, publish, signal) => {
    let running: ShotPrediction[] = [];
    const onProgress = (film: FilmWithShots) => {
      publish(film);
      const before = running;
      running = runningIn(film);
      const ids = new Set(running.map(({ predictionId }) => predictionId));
      for (const one of before) if (!ids.has(one.predictionId)) readContextAgain(one, { except: filmId });
    };
    await client.films.waitFor(await client.films.read(filmId, { signal }), { signal, onProgress });
  });

  /** The running predictions of the reads that are followed now. */
  const followed = new Set<Prediction>();

  const predictions = new SharedReads<Prediction>(async (key, publish, signal) => {
    const ref: PredictionRef = JSON.parse(key);
    const known = await client.predictions.read(ref, { signal });
    const ended = await client.waitFor(known, { signal, onProgress: (seen) => publish(seen) });
    const isFollowed = [...followed].some(({ predictionId }) => predictionId === ref.predictionId);
    if (!hasEnded(known) || isFollowed) readContextAgain(ended);
  });

  /**
   * Publishes what was read, then each later state of running predictions. When one ends, the data that it changes is read again
   * (`readContextAgain`).
   */
  function follow<Data>(
    read: Data,
    all: (Prediction | null)[],
    put: (data: Data, seen: Prediction) => Data,
    publish: Publish<Data>,
    signal: AbortSignal,
  ): void {
    throwIfAborted(signal);
    let latest = read;
    publish(latest);
    for (const one of all) {
      if (one === null || hasEnded(one)) continue;
      followed.add(one);
      const key = keyOf(one);
      const leave = predictions.subscribe(key, () => {
        const { data, error } = predictions.get(key)?.state ?? {};
        if (data) latest = put(latest, data);
        publish(latest, error);
      });
      signal.addEventListener("abort", () => {
        followed.delete(one);
        leave();
      });
      // Another component follows this prediction, but that poll has failed or ended.
      const { data, error } = predictions.get(key)?.state ?? {};
      if (error || (data && hasEnded(data))) predictions.get(key)?.readAgain();
    }
  }

  const projects = new SharedReads<ProjectWithPredictions>(async (projectId, publish, signal) => {
    const project = await client.projects.read(projectId, { signal });
    follow(project, Object.values(project.predictions), withPrediction, publish, signal);
  });

  const pages = new SharedReads<PredictionPage>(async (key, publish, signal) => {
    const [projectId, query]: [string, QueryOf<"listPredictions">] = JSON.parse(key);
    // A list of takes lacks what runs. The running predictions are read first, so that none ends unseen between the two reads.
    const { step, hidden, status } = query;
    const running = status
      ? await client.predictions.list(projectId, { step, hidden, limit: MAX_ROWS }, { signal })
      : null;
    const page = await client.predictions.list(projectId, query, { signal });
    follow(page, [...page.predictions, ...(running?.predictions ?? [])], withLaterState, publish, signal);
  });

  /** `isGone`: `changed` was deleted. `except`: the film that shows the change. */
  function readContextAgain(
    changed: Changed,
    { isGone = false, except }: { isGone?: boolean; except?: string } = {},
  ): void {
    if ("elementId" in changed) {
      elements.get(changed.elementId)?.readAgain();
      elementPages.readAgain();
    }
    // A take is outdated when an element that it was made with has changed, or a frame is gone, even one of another project.
    if ("elementId" in changed || isGone) {
      projects.readAgain();
      pages.readAgain();
    } else if ("projectId" in changed) {
      const { projectId } = changed;
      projects.get(projectId)?.readAgain();
      pages.readAgain((key) => JSON.parse(key)[0] === projectId);
    }
    films.readAgain((filmId) => filmId !== except);
    if ("predictionId" in changed) usage.readAgain();
  }

  function apply(changed: Answer, isGone = false): void {
    if ("predictionId" in changed) {
      projects.get(changed.projectId)?.change((project) => withPrediction(project, changed));
      predictions.get(keyOf(changed))?.readAgain();
    } else if ("selected" in changed) {
      projects.get(changed.projectId)?.change((project) => ({ ...project, ...changed }));
    } else if ("elementId" in changed) {
      elements.get(changed.elementId)?.change(() => changed);
    }
    readContextAgain(changed, { isGone });
  }

  /** Calls the API, then applies the answer to the hooks that are mounted by then. */
  const thenApply =
    <Args extends unknown[], A extends Answer>(call: (...args: Args) => Promise<A>, isGone = false) =>
    async (...args: Args): Promise<A> => {
      const answer = await call(...args);
      apply(answer, isGone);
      return answer;
    };

  const keyframe: KeyframeClient = {
    ...client,
    generate: thenApply(client.generate),
    startQuote: async (...args) => {
      const started = await client.startQuote(...args);
      for (const one of started.predictions ?? [started]) apply(one); // a film's quote starts a prediction for each shot
      return started;
    },
    cancel: thenApply(client.cancel),
    predictions: {
      ...client.predictions,
      setHidden: thenApply(client.predictions.setHidden),
      storeEndImage: thenApply(client.predictions.storeEndImage),
      delete: thenApply(client.predictions.delete, true),
    },
    projects: {
      ...client.projects,
      create: thenApply(client.projects.create),
      change: thenApply(client.projects.change),
      delete: thenApply(client.projects.delete, true),
    },
    elements: {
      ...client.elements,
      create: async (...args) => {
        const created = await client.elements.create(...args);
        elementPages.readAgain(); // a new element changes nothing else
        return created;
      },
      change: thenApply(client.elements.change),
      delete: thenApply(client.elements.delete),
    },
    films: {
      ...client.films,
      change: thenApply(client.films.change),
      delete: thenApply(client.films.delete, true),
      generate: async (...args) => {
        const started = await client.films.generate(...args);
        for (const prediction of started.predictions) apply(prediction);
        return started;
      },
    },
  };
  return { keyframe, models, usage, films, elements, elementPages, projects, pages, predictions };
}

/** Replaces the latest prediction by a later state, or by a later prediction. */
function withPrediction(project: ProjectWithPredictions, seen: Prediction): ProjectWithPredictions {
  const known = project.predictions[seen.step];
  if (known !== null && known.predictionId !== seen.predictionId && known.createdAt > seen.createdAt) return project;
  return { ...project, predictions: { ...project.predictions, [seen.step]: seen } };
}

const withLaterState = (page: PredictionPage, seen: Prediction): PredictionPage => ({
  ...page,
  predictions: page.predictions.map((one) => (one.predictionId === seen.predictionId ? seen : one)),
});
