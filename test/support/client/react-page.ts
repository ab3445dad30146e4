import { createElement, StrictMode, version } from "react";
import { createRoot } from "react-dom/client";
import { renderToString } from "react-dom/server";
import { createKeyframeClient, type KeyframeClient } from "../../../client/index.ts";
import {
  KeyframeProvider,
  type Shown,
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

function Line({ name, shown }: { name: string; shown: Shown<unknown> }) {
  const { data, refetch, error, ...rest } = shown;
  const text = JSON.stringify({ ...rest, code: error?.code, data });
  return createElement("p", { id: name }, createElement("output", null, text), refetchButton(refetch));
}
const refetchButton = (onClick: () => void) => createElement("button", { type: "button", onClick }, "refetch");

const PARTS = {
  Latest: () => createElement(Line, { name: "Latest", shown: usePrediction(projectId, "video") }),
  Take: () => createElement(Line, { name: "Take", shown: usePrediction(projectId, "video", predictionId) }),
  Project: () => createElement(Line, { name: "Project", shown: useProject(projectId) }),
  List: () => createElement(Line, { name: "List", shown: usePredictions(projectId, { limit: 2, step: "video" }) }),
  NoProject: () => createElement(Line, { name: "NoProject", shown: useProject(undefined) }),
  Film: () => createElement(Line, { name: "Film", shown: useFilm("film") }),
  Models: () => createElement(Line, { name: "Models", shown: useModels() }),
  Usage: () => createElement(Line, { name: "Usage", shown: useUsage() }),
  May: () =>
    createElement(Line, { name: "May", shown: useUsage({ to: "2026-05-31", groupBy: "step", from: "2026-05-01" }) }),
  Client: () => {
    page.keyframe = useKeyframe();
    return null;
  },
};
export type Part = keyof typeof PARTS;

const signIn = () =>
  createKeyframeClient({ url: location.origin, getToken: () => "token", retries: 0, random: () => 0 });
let client = signIn();
const root = createRoot(document.body.appendChild(document.createElement("main")));
const make = (part: Part) => createElement(PARTS[part]);
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
  setHidden: (isHidden: boolean) => {
    Object.defineProperty(document, "visibilityState", { value: isHidden ? "hidden" : "visible", configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  },
  keyframe: undefined as KeyframeClient | undefined,
};
Object.assign(globalThis, { page });
