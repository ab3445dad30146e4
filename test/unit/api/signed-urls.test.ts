import { expect, onTestFinished, test } from "vitest";
import type { PredictionOfEachStep } from "../../../shared/contract/projects.ts";
import type { Caller } from "../../../shared/api/auth/verify-session.ts";
import { createPlatformClient } from "../../../shared/api/data/platform-client.ts";
import { createStorage, signedUntil } from "../../../shared/api/data/storage.ts";
import { PREDICTION, PROJECT, predictionRow, signedFiles, startApi, succeededFields } from "./fixture.ts";

const PLATFORM = "https://p.example";
const MINUTE = 60_000;
const ANNA: Caller = { ownerId: "anna", token: "token-of-anna" };
const BEN: Caller = { ownerId: "ben", token: "token-of-ben" };

/** Storage at a clock of the test. It signs each path but `gone.png`, each time with another URL, for an hour. */
function setUp(tokenOf = (claims: string) => `e30.${claims}.c2ln`, clientUrl = PLATFORM) {
  let clock = 0;
  let signed = 0;
  /** The token and the paths of each call. */
  const calls: [string | null, string[]][] = [];
  const platform: typeof fetch = async (_input, init) => {
    const { paths }: { paths: string[] } = await new Response(init?.body).json();
    if (paths.length > 1000) return Response.json({ message: "Too big", statusCode: "400" }, { status: 400 });
    calls.push([new Headers(init?.headers).get("authorization"), paths]);
    const claims = btoa(JSON.stringify({ exp: clock / 1000 + 3600, number: signed++ })).replaceAll("=", "");
    return Response.json(
      paths.map((path) =>
        path === "gone.png"
          ? { path, signedURL: null, error: "Either the object does not exist or you do not have access to it" }
          : { path, signedURL: `/object/sign/keyframe-outputs/${path}?token=${tokenOf(claims)}`, error: null },
      ),
    );
  };
  const client = createPlatformClient(PLATFORM, "sb_publishable_x", platform);
  const storage = createStorage(client, {
    supabaseUrl: PLATFORM,
    clientUrl,
    secretKey: "sb_secret_test",
    now: () => new Date(clock),
  });
  const sign = async (paths: string[], caller = ANNA) => Object.fromEntries(await storage.signGenerated(paths, caller));
  const advance = (ms: number) => {
    clock += ms;
  };
  return { sign, calls, advance };
}

test("a server that acts for a user → the secret key signs only that user's files; the user's own call has the user's token", async () => {
  const { sign, calls } = setUp();
  const server: Caller = { ownerId: "anna", token: "sb_secret_x", by: "server" };
  const files = await sign(["anna/a.png", "ben/b.png", "annabel/c.png", "c.png"], server);
  expect(Object.keys(files)).toEqual(["anna/a.png"]);
  await sign(["anna/d.png"]);
  expect(calls).toEqual([
    ["Bearer sb_secret_x", ["anna/a.png"]],
    ["Bearer token-of-anna", ["anna/d.png"]],
  ]);
});

test("the same caller reads again → the same URL without a call, until it is valid for only a quarter of an hour", async () => {
  const { sign, calls, advance } = setUp();
  const first = await sign(["a.png"]);
  expect(first["a.png"]?.expiresAt).toBe(new Date(60 * MINUTE).toISOString());
  advance(45 * MINUTE - 1);
  expect([await sign(["a.png"]), calls.length]).toEqual([first, 1]);
  advance(1);
  const next = await sign(["a.png"]);
  expect(next["a.png"]?.expiresAt).toBe(new Date(105 * MINUTE).toISOString());
  expect([await sign(["a.png"]), calls.length]).toEqual([next, 2]);
});

test("another caller reads the same path → a call with that caller's token, and another URL", async () => {
  const { sign, calls } = setUp();
  const [hers, his] = [await sign(["a.png"], ANNA), await sign(["a.png"], BEN)];
  expect(calls).toEqual([
    ["Bearer token-of-anna", ["a.png"]],
    ["Bearer token-of-ben", ["a.png"]],
  ]);
  expect(his["a.png"]?.url).not.toBe(hers["a.png"]?.url);
  expect(await sign(["a.png"], ANNA)).toEqual(hers);
});

test("several paths, some of them signed before → one call for the rest", async () => {
  const { sign, calls } = setUp();
  await sign(["a.png", "b.png"]);
  expect(Object.keys(await sign(["b.png", "c.png"])).sort()).toEqual(["b.png", "c.png"]);
  expect(calls.map(([, paths]) => paths)).toEqual([["a.png", "b.png"], ["c.png"]]);
});

test("a film of 500 shots with three takes each → every URL, in calls of as many paths as Storage takes", async () => {
  const { sign, calls } = setUp();
  const paths = Array.from({ length: 1500 }, (_, at) => `${at}.png`);
  expect(Object.keys(await sign(paths)).toSorted()).toEqual(paths.toSorted());
  expect(calls.flatMap(([, some]) => some)).toEqual(paths);
});

test("a file that does not exist → no URL, and a call each time, since it may come back", async () => {
  const { sign, calls } = setUp();
  for (const _ of [1, 2]) expect(await sign(["gone.png"])).toEqual({});
  expect(calls).toHaveLength(2);
});

test("a signed URL that does not say when it expires → a call each time", async () => {
  const { sign, calls } = setUp(() => "opaque");
  for (const _ of [1, 2]) expect((await sign(["a.png"]))["a.png"]?.url).toMatch(/opaque$/);
  expect(calls).toHaveLength(2);
});

test("more URLs than are remembered → the oldest is signed again, the newest is not", async () => {
  const { sign, calls } = setUp();
  await sign(Array.from({ length: 2001 }, (_, at) => `${at}.png`));
  const before = calls.length;
  await sign(["2000.png", "1.png"]);
  expect(calls).toHaveLength(before);
  await sign(["0.png"]);
  expect(calls).toHaveLength(before + 1);
});

test("apps use another address than the functions → the signed URL has the apps' address", async () => {
  const { sign } = setUp(undefined, "https://films.example");
  const start = "https://films.example/storage/v1/object/sign/keyframe-outputs/a.png?token=";
  expect((await sign(["a.png"]))["a.png"]?.url.slice(0, start.length)).toBe(start);
});

test("a page with a deleted file → its output is null, the rest are complete; only this page's files are signed", async () => {
  const predictions = ["a.png", "gone.png", "b.png", "of-the-next-page.png"].map((output_path) =>
    predictionRow({ ...succeededFields, output_path }),
  );
  const time = "2026-11-21T12:00:00.5+00:00";
  const project = {
    ...{ id: PROJECT, title: "Harbour", text_prompt: "Dawn", description: "", reference_image_path: null },
    aspect_ratio: "16:9",
    film_id: null,
    ...{
      element_ids: null,
      plan: {},
      selected_first_frame_id: null,
      selected_last_frame_id: null,
      selected_video_id: null,
    },
    ...{ created_at: time, updated_at: time },
  };
  const projects = predictions.map((prediction) => ({
    ...project,
    predictions: [{ is_latest: true, is_take: true, prediction }],
  }));
  const asked: string[][] = [];
  const api = await startApi((request) => {
    if (!request.path.startsWith("/storage/")) {
      return Response.json({ predictions, projects, prediction: predictions[1], rate: null });
    }
    asked.push(JSON.parse(new TextDecoder().decode(request.body)).paths);
    return signedFiles(request, (path) => path === "gone.png");
  });
  onTestFinished(api.stop);
  const read = async (path: string) => {
    const response = await api.call(path);
    expect(response.status).toBe(200);
    return (await response.json()).data;
  };
  const fileOf = ({ output }: { output: { path: string } | null }) => output?.path ?? null;
  const { predictions: listed } = await read(`/api/projects/${PROJECT}/predictions?limit=3`);
  const { projects: shown } = await read("/api/projects?include=predictions&limit=3");
  const alone = await read(`/api/projects/generate/first-frame?projectId=${PROJECT}&predictionId=${PREDICTION}`);
  expect(listed.map(fileOf)).toEqual(["a.png", null, "b.png"]);
  const latest = shown.map((one: { predictions: PredictionOfEachStep }) => one.predictions["first-frame"]);
  expect(latest.map(fileOf)).toEqual(["a.png", null, "b.png"]);
  expect([alone.status, fileOf(alone)]).toEqual(["succeeded", null]);
  expect(asked).toEqual([["a.png", "gone.png", "b.png"], ["a.png", "gone.png", "b.png"], ["gone.png"]]);
});

const part = (text: string) => btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const address = (payload: string) => `/object/sign/keyframe-outputs/x.png?token=${part("{}")}.${part(payload)}.c2ln`;

test("an address that Storage signed → valid until its token ends, whatever the time is here", () => {
  const payload = JSON.stringify({ url: "keyframe-outputs/~~~~~?????.png", iat: 1_700_000_000, exp: 1_700_003_600 });
  for (const more of ["", "&download="]) {
    expect(signedUntil(address(payload) + more)).toEqual(new Date("2023-11-14T23:13:20Z"));
  }
});

test.each([
  ...["/object/sign/keyframe-outputs/x.png", "/x.png?token=abc", "/x.png?token=a.b.c"],
  ...["exp", "{}", '{"exp":"soon"}'].map(address),
])("the URL %s → its expiry is unknown", (url) => {
  expect(signedUntil(url)).toBeNull();
});
