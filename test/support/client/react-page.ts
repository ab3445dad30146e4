import { createElement, type ReactElement, StrictMode, version } from "react";
import { createRoot, hydrateRoot } from "react-dom/client";
import { renderToString } from "react-dom/server";
import { systemClock } from "../../../client/clock.ts";
import { createKeyframeClient, type KeyframeClient } from "../../../client/index.ts";
import {
  KeyframeProvider,
  type HookResult,
  useBalance,
  useElement,
  useElements,
  useFilm,
  useKeyframe,
  useModels,
  usePrediction,
  usePredictions,
  useProject,
  useUsage,
} from "../../../client/react.ts";

// A page of the hooks in a browser. Each component writes what its hook returns as JSON, with a button that refetches.

const { projectId = "", predictionId = "" } = Object.fromEntries(new URLSearchParams(location.search));

function Line({ name, shown }: { name: string; shown: HookResult<unknown> }) {
  const { data, refetch, error, ...rest } = shown;
  const text = JSON.stringify({ ...rest, code: error?.code, data });
  return createElement("p", { id: name }, createElement("output", null, text), refetchButton(refetch));
}
const refetchButton = (onClick: () => void) => createElement("button", { type: "button", onClick }, "refetch");

/** What a server has read, by the name of its component. */
let given: Record<string, { initialData?: never } | undefined> = {};

const HOOKS = {
  Latest: () => usePrediction(projectId, "video", undefined, given.Latest),
  Take: () => usePrediction(projectId, "video", predictionId, given.Take),
  Project: () => useProject(projectId, given.Project),
  List: () => usePredictions(projectId, { limit: 2, step: "video" }, given.List),
  Takes: () => usePredictions(projectId, { status: "succeeded", step: "video" }, given.Takes),
  NoProject: () => useProject(undefined, given.NoProject),
  Film: () => useFilm("film", given.Film),
  Elements: () => useElements({ limit: 50 }, given.Elements),
  Element: () => useElement("element", given.Element),
  Models: () => useModels(given.Models),
  Usage: () => useUsage({}, given.Usage),
  Balance: () => useBalance(given.Balance),
  May: () => useUsage({ to: "2026-05-31", groupBy: "step", from: "2026-05-01" }),
};
const componentOf = ([name, useIt]: [string, () => HookResult<unknown>]) => [
  name,
  () => createElement(Line, { name, shown: useIt() }),
];
const COMPONENTS: Record<string, () => ReactElement | null> = {
  ...Object.fromEntries(Object.entries(HOOKS).map(componentOf)),
  Client: () => {
    page.keyframe = useKeyframe();
    return null;
  },
};
export type Part = keyof typeof HOOKS | "Client";

/** The pauses that the client makes now: it will ask again after each. */
const pauses: number[] = [];
const clock = {
  ...systemClock,
  sleep: async (ms: number, signal: AbortSignal | undefined) => {
    pauses.push(ms);
    await systemClock.sleep(ms, signal).finally(() => pauses.splice(pauses.indexOf(ms), 1));
  },
};

const signIn = () =>
  createKeyframeClient({ url: location.origin, getToken: () => "token", retries: 0, random: () => 0, clock });
let client = signIn();
const main = document.querySelector("main") as HTMLElement;
let root = createRoot(main);
const make = (part: Part) => createElement(COMPONENTS[part] ?? "p");
const tree = (parts: Part[]) =>
  createElement(StrictMode, null, createElement(KeyframeProvider, { client }, ...parts.map(make)));

/** What the tests call in the page, as text. */
const page = {
  version,
  changeUser: () => {
    client = signIn();
  },
  show: (...parts: Part[]) => root.render(tree(parts)),
  html: (...parts: Part[]) => renderToString(tree(parts)),
  give: (data: Record<string, never>) => {
    given = Object.fromEntries(Object.entries(data).map(([name, initialData]) => [name, { initialData }]));
  },
  /** As in a page that a server has made. */
  hydrate: (...parts: Part[]) => {
    root.unmount();
    main.innerHTML = renderToString(tree(parts));
    root = hydrateRoot(main, tree(parts));
  },
  pauses,
  setHidden: (isHidden: boolean) => {
    Object.defineProperty(document, "visibilityState", { value: isHidden ? "hidden" : "visible", configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  },
  keyframe: undefined as KeyframeClient | undefined,
};
Object.assign(globalThis, { page });
