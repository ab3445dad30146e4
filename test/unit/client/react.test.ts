import type { Page, Route } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Prediction } from "../../../shared/contract/predictions.ts";
import { SAMPLE_ELEMENT, SAMPLE_FILM, SAMPLE_PREDICTION, SAMPLE_PROJECT } from "../../../shared/contract/samples.ts";
import { bundle } from "../../support/client/bundle.ts";
import { openApp } from "../../support/client/open-app.ts";
import type { Part } from "../../support/client/react-page.ts";
import { predictionWith, REF } from "../../support/client/server.ts";
import { until } from "../../support/until.ts";

// keyframe-client/react in a browser, with the real client and React in StrictMode. Each test is a dialogue: it takes the page's requests
// one by one and answers them, so a request too many is one that nobody took.

const { projectId, predictionId } = REF;
const GET_PROJECT = `GET /projects/${projectId}`;
const GET_TAKE = `GET /projects/generate/video?projectId=${projectId}&predictionId=${predictionId}`;
const GET_LIST = `GET /projects/${projectId}/predictions?step=video&limit=2`;
const GET_TAKES = `GET /projects/${projectId}/predictions?step=video&status=succeeded`;
const GET_RUNNING = `GET /projects/${projectId}/predictions?step=video&limit=100`;
const GET_FILM = "GET /films/film";

const RUNNING = predictionWith({ status: "processing", progress: 0.25 });
const ENDED: Prediction = {
  ...predictionWith({ status: "succeeded", progress: 1 }),
  output: {
    ...SAMPLE_PREDICTION.output,
    url: "https://files/1",
    expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
  },
};
const projectWith = (video: Prediction | null, take: Prediction | null = null) => {
  const none = { "first-frame": null, "last-frame": null };
  return { ...SAMPLE_PROJECT, projectId, predictions: { ...none, video }, takes: { ...none, video: take } };
};
const filmWith = (...videos: (Prediction | null)[]) => ({
  ...{ ...SAMPLE_FILM, filmId: "film" },
  shots: videos.map((video) => projectWith(video)),
});
const listWith = (...predictions: Prediction[]) => ({ predictions, nextCursor: null });
/** Every component that reads. */
const READS: Part[] = [
  ...(["Latest", "Project", "List", "Takes", "Take", "Film", "Elements", "Element"] as const),
  ...(["Models", "Usage", "Balance"] as const),
];
const statusesIn = (html: string) =>
  [...html.matchAll(/\{&quot;status&quot;:&quot;(\w+)/g)].map(([, status]) => status);
const HELD = { "preference-applied": "wait=1", "retry-after": "1", etag: 'W/"b"' };
const FIRST = { "retry-after": "1", etag: 'W/"a"' };

/** A request of the page, to be answered. */
function readRequest(route: Route) {
  const request = route.request();
  const send = (status: number, body: object, headers: Record<string, string> = {}) =>
    void route.fulfill({ status, headers, json: { success: status < 300, data: null, error: null, ...body } });
  return {
    what: `${request.method()} ${request.url().split("/functions/v1/api")[1]}`,
    headers: request.headers(),
    answer: (data: unknown, headers?: Record<string, string>) => send(200, { data }, headers),
    refuse: (status: number, code: string) => send(status, { error: { code, message: "No.", requestId: "1" } }),
    /** Whether the page no longer waits for it. */
    isGone: () => request.failure() !== null,
  };
}
type Asked = ReturnType<typeof readRequest>;

describe.each([18, 19] as const)("React %s", (version) => {
  const faults: string[] = [];
  const asked: Asked[] = [];
  let app: Awaited<ReturnType<typeof openApp>>;
  let page: Page;

  beforeAll(async () => {
    app = await openApp(await bundle("test/support/client/react-page.ts", { react: version }));
    page = app.page;
    page.on("pageerror", ({ message }) => faults.push(message));
    page.on("console", (message) => {
      if (message.type() === "error" && !message.text().includes("Failed to load resource"))
        faults.push(message.text());
    });
    await page.route("**/functions/v1/api/**", (route) => void asked.push(readRequest(route)));
    await page.goto(`${app.origin}/?${new URLSearchParams({ projectId, predictionId })}`);
    expect(await page.evaluate("page.version")).toMatch(new RegExp(`^${version}\\.`));
  });
  afterEach(async () => {
    await show();
    await nothingElse();
  });
  afterAll(async () => {
    await app.close();
    expect(faults).toEqual([]);
  });

  const show = (...parts: Part[]) => page.evaluate(`page.show(...${JSON.stringify(parts)})`);
  const setHidden = (isHidden: boolean) => page.evaluate(`page.setHidden(${isHidden})`);
  /** The pauses that the page's client makes now, in ms. */
  const pauses = () => page.evaluate<number[]>("page.pauses.filter((ms) => ms > 0)");
  /** Calls the client of useKeyframe, without waiting for the answer. */
  const call = (text: string) => page.evaluate(`void page.keyframe.${text}`);
  const refetch = (part: Part) => page.locator(`#${part} button`).click();

  const next = async (what: string): Promise<Asked> => {
    const one = await until(`${what}, not ${asked.map((other) => other.what)}`, () =>
      asked.find((other) => other.what === what),
    );
    asked.splice(asked.indexOf(one), 1);
    return one;
  };
  /** Fails if the page has sent a request that no test took: a last one overtakes none. */
  const nothingElse = async () => {
    await page.evaluate(`void fetch("/functions/v1/api/last").catch(() => undefined)`);
    (await next("GET /last")).answer({});
    expect(asked.map(({ what }) => what)).toEqual([]);
  };
  const shows = async (part: Part, state: object, count = 1) => {
    const texts = () => page.locator(`#${part} output`).allInnerTexts();
    const states = async () => (await texts()).map((text): unknown => JSON.parse(text));
    await expect.poll(states).toEqual(Array(count).fill(expect.objectContaining(state)));
  };
  const showing = (fields: Partial<Prediction>) => ({ status: "ready", data: expect.objectContaining(fields) });

  test("five components, a take and its project, in StrictMode → one read of each and one poll, and all show each state", async () => {
    await show("Latest", "Latest", "Latest", "Latest", "Latest", "Project", "Take");
    await shows("Latest", { status: "loading", progress: null }, 5);
    (await next(GET_PROJECT)).answer(projectWith(RUNNING));
    (await next(GET_TAKE)).answer(RUNNING, FIRST);
    const held = await next(GET_TAKE);
    expect([held.headers["if-none-match"], held.headers.prefer]).toEqual(['W/"a"', "wait=1"]);
    await shows("Latest", { ...showing({ status: "processing" }), progress: 0.25 }, 5);
    await nothingElse();
    held.answer({ ...RUNNING, status: "starting", progress: 0.5 }, HELD);
    await shows("Latest", { progress: 0.5 }, 5);
    await shows("Take", { progress: 0.5 });

    (await next(GET_TAKE)).answer(ENDED, HELD);
    await shows("Latest", { ...showing({ status: "succeeded" }), progress: 1 }, 5);
    await shows("Take", { progress: 1 });
    (await next(GET_PROJECT)).answer(projectWith(ENDED, ENDED)); // its takes
    await shows("Project", { data: expect.objectContaining({ takes: projectWith(null, ENDED).takes }) });
  });

  test("a component replaces another → the poll goes on; the last unmounts → it ends; mounted again → reads again", async () => {
    await show("Take", "Take");
    (await next(GET_TAKE)).answer(RUNNING, FIRST);
    const held = await next(GET_TAKE);
    await show("Take");
    await show("Client", "Take"); // which unmounts the last one and mounts another
    await nothingElse();
    expect(held.isGone()).toBe(false);
    await show();
    await until("the poll ends", held.isGone);
    await show("Take");
    await shows("Take", { status: "loading" });
    (await next(GET_TAKE)).answer(ENDED);
    await shows("Take", showing({ status: "succeeded" }));
    await page.evaluate("page.changeUser()");
    await show("Take");
    await shows("Take", { status: "loading" });
    (await next(GET_TAKE)).refuse(404, "not_found");
    await shows("Take", { status: "failed" });
    expect(await page.locator("#Take output").textContent()).not.toContain("data");
  });

  test("the page is hidden → the poll ends, and the data stay; visible again → everything is read at once", async () => {
    await show("Project", "Models", "Take");
    (await next("GET /models")).answer({ steps: [] });
    (await next(GET_PROJECT)).answer(projectWith(RUNNING));
    (await next(GET_TAKE)).answer(RUNNING, FIRST);
    const held = await next(GET_TAKE);
    await setHidden(true);
    await until("the poll ends", held.isGone);
    await show("Project", "Models", "Take", "Latest"); // nothing new is read while it is hidden
    for (const part of ["Take", "Latest"] as const) await shows(part, { status: "ready", progress: 0.25 });
    await nothingElse();
    await setHidden(false);
    (await next(GET_PROJECT)).answer(projectWith(ENDED));
    (await next("GET /models")).answer({ steps: [{ step: "video", models: [] }] });
    await shows("Latest", showing({ status: "succeeded" }));
    (await next(GET_TAKE)).answer(ENDED);
    await shows("Take", showing({ status: "succeeded" }));
    await shows("Models", { data: { steps: [{ step: "video", models: [] }] } });
  });

  test("a read that fails → its code; refetch → ready; a poll that fails → its code next to the data", async () => {
    await show("Project");
    (await next(GET_PROJECT)).refuse(404, "not_found");
    await shows("Project", { status: "failed", code: "not_found" });
    await refetch("Project");
    await shows("Project", { status: "loading" });
    await show("Project", "Take");
    (await next(GET_PROJECT)).answer(projectWith(RUNNING));
    (await next(GET_TAKE)).refuse(401, "unauthorized");
    await shows("Project", { status: "failed", code: "unauthorized", data: projectWith(RUNNING) });
    await shows("Take", { status: "failed", code: "unauthorized" });
    await refetch("Project");
    await shows("Project", { status: "ready" });
    (await next(GET_PROJECT)).answer(projectWith(RUNNING));
    (await next(GET_TAKE)).answer(ENDED); // between the two reads
    await shows("Take", { status: "ready" });
    (await next(GET_PROJECT)).answer(projectWith(ENDED, ENDED));
    await shows("Project", { status: "ready", data: projectWith(ENDED, ENDED) });
  });

  test("a project or a list read before a prediction's end but answered after it → read again", async () => {
    await show("Project", "Take");
    (await next(GET_TAKE)).answer(ENDED);
    await shows("Take", showing({ status: "succeeded" }));
    (await next(GET_PROJECT)).answer(projectWith(RUNNING));
    (await next(GET_TAKE)).answer(ENDED);
    (await next(GET_PROJECT)).answer(projectWith(ENDED, ENDED));
    await shows("Project", { data: projectWith(ENDED, ENDED) });
    await show("List");
    (await next(GET_LIST)).answer(listWith(RUNNING));
    (await next(GET_TAKE)).answer(ENDED);
    (await next(GET_LIST)).answer(listWith(ENDED));
    await shows("List", { data: listWith(ENDED) });
  });

  test.each([
    [`generate("video", { projectId: "${projectId}" })`, "POST /projects/generate/video", predictionWith()],
    ['films.generate("film", "video")', "POST /films/film/generate/video", { predictions: [predictionWith()] }],
  ])(
    "%s and cancel of useKeyframe → shown before anything is read again; other changes → read again",
    async (start, asks, answer) => {
      await show("Client", "Latest", "Film");
      (await next(GET_PROJECT)).answer(projectWith(null));
      (await next(GET_FILM)).answer({ ...SAMPLE_FILM, shots: [] });
      await shows("Latest", { status: "ready", data: null });

      await call(start);
      (await next(asks)).answer(answer, FIRST);
      await shows("Latest", showing({ status: "queued" }));
      (await next(GET_PROJECT)).answer(projectWith(predictionWith()));
      (await next(GET_FILM)).answer({ ...SAMPLE_FILM, shots: [] });
      (await next(GET_TAKE)).answer(predictionWith(), FIRST);
      const held = await next(GET_TAKE);

      await call(`cancel({ projectId: "${projectId}", predictionId: "${predictionId}" })`);
      (await next("POST /projects/generate/cancel")).answer(predictionWith({ status: "canceled" }));
      await shows("Latest", showing({ status: "canceled" }));
      await until("the poll ends", held.isGone);
      for (let turn = 1; turn <= 3; turn++) {
        (await next(GET_PROJECT)).answer(projectWith(predictionWith({ status: "canceled" })));
        (await next(GET_FILM)).answer({ ...SAMPLE_FILM, title: `Title ${turn}`, shots: [] });
        await shows("Film", { data: { ...SAMPLE_FILM, title: `Title ${turn}`, shots: [] } });
        if (turn === 1) {
          await call(`projects.change("${projectId}", { title: "b" })`);
          (await next(`PATCH /projects/${projectId}`)).answer({ ...SAMPLE_PROJECT, projectId });
        } else if (turn === 2) {
          await call(`elements.change("e", { text: "b" })`);
          (await next("PATCH /elements/e")).answer(SAMPLE_ELEMENT);
        }
      }
    },
  );

  test("a list and its project → share one poll and show it; the end, changes or deletion of a project → read again", async () => {
    const EARLIER = { ...ENDED, predictionId: "earlier" };
    const readBoth = async (project: object, list: object) => {
      (await next(GET_PROJECT)).answer(project);
      (await next(GET_LIST)).answer(list);
      await shows("List", { status: "ready", data: list }, 2);
    };
    await show("Client", "List", "List", "Project");
    await readBoth(projectWith(RUNNING, EARLIER), listWith(RUNNING, EARLIER));
    (await next(GET_TAKE)).answer({ ...RUNNING, progress: 0.5 }, FIRST);
    await shows("List", { data: listWith({ ...RUNNING, progress: 0.5 }, EARLIER) }, 2);
    await shows("Project", { data: projectWith({ ...RUNNING, progress: 0.5 }, EARLIER) });
    (await next(GET_TAKE)).answer(ENDED, HELD);
    await shows("List", { data: listWith(ENDED, EARLIER) }, 2);
    await readBoth(projectWith(ENDED, ENDED), listWith(ENDED, EARLIER));

    const selected = { ...SAMPLE_PROJECT.selected, video: "earlier" };
    await call(`projects.change("${projectId}", { selected: { video: "earlier" } })`);
    (await next(`PATCH /projects/${projectId}`)).answer({ ...SAMPLE_PROJECT, projectId, selected });
    await shows("Project", { data: expect.objectContaining({ selected }) }); // before it is read again
    await readBoth({ ...projectWith(ENDED, EARLIER), selected }, listWith(ENDED, EARLIER));
    await call(`predictions.setHidden({ projectId: "${projectId}", predictionId: "earlier" }, true)`);
    (await next(`PATCH /projects/${projectId}/predictions/earlier`)).answer({ ...EARLIER, hidden: true });
    await readBoth(projectWith(ENDED, EARLIER), listWith(ENDED));
    const changed = page.evaluate(`page.keyframe.projects.change("another", { title: "Quay" })`);
    (await next("PATCH /projects/another")).answer({ ...SAMPLE_PROJECT, projectId: "another" });
    await changed;
    await nothingElse();
    await call(`projects.delete("another")`);
    (await next("DELETE /projects/another")).answer({ ...SAMPLE_PROJECT, projectId: "another" });
    await readBoth(projectWith(ENDED, EARLIER), listWith({ ...ENDED, outdated: true })); // it was made with a frame of that
  });

  test("a film shown twice while something runs → one read at a time until nothing runs; its end found elsewhere → read again", async () => {
    const other = { ...ENDED, predictionId: "other" };
    await show("Film", "Film", "Usage", "NoProject");
    (await next("GET /usage")).answer({ groups: [] });
    (await next(GET_FILM)).answer(filmWith(RUNNING, other, null));
    await shows("Film", { status: "ready", data: filmWith(RUNNING, other, null) }, 2);
    await nothingElse();
    const LATER = { ...RUNNING, progress: 0.5 };
    (await next(GET_FILM)).answer(filmWith(LATER, other, null));
    await shows("Film", { data: filmWith(LATER, other, null) }, 2);
    await expect.poll(pauses).toEqual([1300]); // for three shots
    (await next(GET_FILM)).answer(filmWith(ENDED, other, null));
    await shows("Film", { data: filmWith(ENDED, other, null) }, 2);
    (await next("GET /usage")).answer({ groups: [1] });
    await shows("Usage", { data: { groups: [1] } });
    expect(await pauses()).toEqual([]);
    await nothingElse();
  });

  test("a running film, hidden → not read; visible → read at once; a poll fails → read again; unmounted → not read", async () => {
    await show("Film");
    (await next(GET_FILM)).answer(filmWith(RUNNING));
    await expect.poll(pauses).toEqual([1100]);
    await setHidden(true);
    expect(await pauses()).toEqual([]);
    await setHidden(false);
    (await next(GET_FILM)).answer(filmWith(RUNNING));
    (await next(GET_FILM)).refuse(503, "unavailable");
    (await next(GET_FILM)).answer(filmWith(RUNNING));
    await shows("Film", { status: "ready", data: filmWith(RUNNING) });
    await show();
    await expect.poll(pauses).toEqual([]);
  });

  test("useTakes of a step → follows running predictions, also ones started here, and adds each that succeeds", async () => {
    const EARLIER = { ...ENDED, predictionId: "earlier" };
    await show("Client", "Takes", "Takes");
    (await next(GET_RUNNING)).answer(listWith(RUNNING, EARLIER));
    (await next(GET_TAKES)).answer(listWith(EARLIER));
    await shows("Takes", { status: "ready", data: listWith(EARLIER) }, 2);
    (await next(GET_TAKE)).answer(RUNNING, FIRST);
    (await next(GET_TAKE)).answer(ENDED, HELD);
    (await next(GET_RUNNING)).answer(listWith(ENDED, EARLIER));
    (await next(GET_TAKES)).answer(listWith(ENDED, EARLIER));
    await shows("Takes", { data: listWith(ENDED, EARLIER) }, 2);
    await nothingElse();

    await call(`generate("video", { projectId: "${projectId}" })`);
    (await next("POST /projects/generate/video")).answer({ ...RUNNING, predictionId: "new" });
    (await next(GET_RUNNING)).answer(listWith({ ...RUNNING, predictionId: "new" }, ENDED, EARLIER));
    (await next(GET_TAKES)).answer(listWith(ENDED, EARLIER));
    const NEW = { ...ENDED, predictionId: "new" };
    (await next(GET_TAKE.replace(predictionId, "new"))).answer(NEW); // it has ended between the reads
    (await next(GET_RUNNING)).answer(listWith(NEW, ENDED, EARLIER));
    (await next(GET_TAKES)).answer(listWith(NEW, ENDED, EARLIER));
    await shows("Takes", { data: listWith(NEW, ENDED, EARLIER) }, 2);
  });

  test("elements are created, changed or deleted → the list is read again; a change is shown at once", async () => {
    const GET_ELEMENTS = "GET /elements?limit=50";
    const GET_ELEMENT = "GET /elements/element";
    const anna = { ...SAMPLE_ELEMENT, elementId: "element", text: "Red" };
    const answerBoth = async (element: object, ...all: object[]) => {
      (await next(GET_ELEMENT)).answer(element);
      (await next(GET_ELEMENTS)).answer({ elements: all, nextCursor: null });
      await shows("Elements", { status: "ready", data: { elements: all, nextCursor: null } }, 2);
    };
    await show("Client", "Element", "Elements", "Elements");
    await answerBoth(anna, anna);
    await shows("Element", { status: "ready", data: anna });

    await call(`elements.create({ name: "Pier" })`);
    (await next("POST /elements")).answer(SAMPLE_ELEMENT);
    (await next(GET_ELEMENTS)).answer({ elements: [SAMPLE_ELEMENT, anna], nextCursor: null });
    await call(`elements.change("element", { text: "Blue" })`);
    (await next("PATCH /elements/element")).answer({ ...anna, text: "Blue" });
    await shows("Element", { data: { ...anna, text: "Blue" } }); // before it is read again
    await answerBoth({ ...anna, text: "Blue" }, SAMPLE_ELEMENT, { ...anna, text: "Blue" });
    await call(`elements.delete("element")`);
    (await next("DELETE /elements/element")).answer(anna);
    (await next(GET_ELEMENT)).refuse(404, "not_found");
    (await next(GET_ELEMENTS)).answer({ elements: [SAMPLE_ELEMENT], nextCursor: null });
    await shows("Element", { status: "failed", code: "not_found" });
    await shows("Elements", { data: { elements: [SAMPLE_ELEMENT], nextCursor: null } }, 2);
  });

  test("usage of this month, its balance and other days → one read of each query; a start, an end, a visible page → again", async () => {
    const GET_MAY = "GET /usage?from=2026-05-01&to=2026-05-31&groupBy=step";
    const readBoth = async (groups: number[], balance: object | null) => {
      (await next("GET /usage")).answer({ groups, balance });
      (await next(GET_MAY)).answer({ groups: [1] });
      await shows("Usage", { status: "ready", data: { groups, balance } }, 2);
      await shows("Balance", { status: "ready", data: balance }, 2);
    };
    await show("Client", "Usage", "Usage", "Balance", "Balance", "May");
    await readBoth([], null); // without prepayment
    await shows("May", { status: "ready", data: { groups: [1] } });
    await setHidden(true);
    await setHidden(false);
    await readBoth([2], { availableMicros: 5, heldMicros: 0 });

    await show("Client", "Usage", "Usage", "Balance", "Balance", "May", "Latest");
    (await next(GET_PROJECT)).answer(projectWith(null));
    await shows("Latest", { status: "ready" });
    await call(`startQuote({ quoteId: "q", atMostMicros: 1 })`);
    (await next("POST /projects/generate/quote")).answer(RUNNING, FIRST);
    await readBoth([3], { availableMicros: 5, heldMicros: 1 });
    (await next(GET_PROJECT)).answer(projectWith(RUNNING));
    (await next(GET_TAKE)).answer(RUNNING, FIRST);
    (await next(GET_TAKE)).answer(ENDED, HELD);
    await readBoth([4], null);
    (await next(GET_PROJECT)).answer(projectWith(ENDED, ENDED));
    await nothingElse();
  });

  test("an unchanged file → keeps its URL while valid, so that a video plays on; refetch or a new file → the new URL", async () => {
    const withUrl = (url: string, fields: object = {}): Prediction => ({
      ...ENDED,
      output: { ...SAMPLE_PREDICTION.output, ...ENDED.output, url, ...fields },
    });
    const answer = async (take: Prediction, shown: string) => {
      (await next(GET_PROJECT)).answer(projectWith(take, take));
      const output = expect.objectContaining({ output: expect.objectContaining({ url: shown }) });
      const takes = expect.objectContaining({ video: output });
      await shows("Project", { data: expect.objectContaining({ predictions: takes, takes }) });
    };
    const again = async () => {
      await setHidden(true);
      await setHidden(false);
    };
    await show("Project");
    await answer(withUrl("https://files/1"), "https://files/1");
    await again();
    await answer(withUrl("https://files/2"), "https://files/1");
    await again();
    const soon = new Date(Date.now() + 60_000).toISOString();
    await answer(withUrl("https://files/3", { sha256: "0", expiresAt: soon }), "https://files/3");
    await again();
    await answer(withUrl("https://files/4", { sha256: "0" }), "https://files/4");
    await refetch("Project");
    await answer(withUrl("https://files/5", { sha256: "0" }), "https://files/5");
  });

  test("hooks rendered on a server → loading, and nothing is read; without an id → idle", async () => {
    const html = await page.evaluate<string>(`page.html(...${JSON.stringify(READS)}, "NoProject")`);
    expect(statusesIn(html)).toEqual([...Array(READS.length).fill("loading"), "idle"]);
    await nothingElse();
    await show("NoProject");
    await shows("NoProject", { status: "idle" });
  });

  test("hooks rendered on a server with initial data → show it, in the browser too until it is read; files keep their URLs", async () => {
    const film = filmWith(ENDED);
    const given = {
      ...{ Latest: ENDED, Take: ENDED, Project: projectWith(null), List: listWith(ENDED), Takes: listWith(ENDED) },
      ...{ Film: film, Elements: { elements: [], nextCursor: null }, Element: SAMPLE_ELEMENT },
      ...{ Models: { steps: [] }, Usage: { groups: [7] }, Balance: null, NoProject: projectWith(null) },
    };
    await page.evaluate(`page.give(${JSON.stringify(given)})`);
    const html = await page.evaluate<string>(`page.html(...${JSON.stringify(READS)}, "NoProject")`);
    expect(statusesIn(html)).toEqual([...Array(READS.length).fill("ready"), "idle"]);
    await nothingElse();

    await page.evaluate(`page.hydrate("Film", "Latest", "Balance")`);
    await shows("Film", { status: "ready", data: film });
    await shows("Latest", { status: "ready", data: ENDED, progress: 1 });
    await shows("Balance", { status: "ready", data: null });
    const SIGNED_ANEW = { ...ENDED, output: { ...SAMPLE_PREDICTION.output, ...ENDED.output, url: "https://files/9" } };
    (await next(GET_FILM)).answer({ ...filmWith(SIGNED_ANEW), title: "Later" });
    await shows("Film", { status: "ready", data: { ...film, title: "Later" } });
    (await next(GET_PROJECT)).refuse(403, "forbidden");
    await shows("Latest", { status: "failed", code: "forbidden", data: ENDED });
    (await next("GET /usage")).answer({ groups: [], balance: { availableMicros: 1, heldMicros: 0 } });
    await shows("Balance", { data: { availableMicros: 1, heldMicros: 0 } });
    await page.evaluate("page.give({})");
  });
});
