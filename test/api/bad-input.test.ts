import { beforeAll, describe, expect, inject, test } from "vitest";
import { type CallOptions, sendToApi } from "../support/api/call.ts";
import { footprint, openDatabase } from "../support/api/database.ts";
import { readReply } from "../support/api/envelope.ts";
import { signUp, type User } from "../support/api/user.ts";
import { register, SILENT } from "../support/api/webhooks.ts";
import { rawExchange } from "../support/security/raw.ts";

const sql = openDatabase();
let user: User;
let projectId: string;
let webhookId: string;
let filmId: string;
beforeAll(async () => {
  user = await signUp();
  [projectId, { webhookId }, filmId] = await Promise.all([
    user.createProject(),
    register(user, { enabled: false }),
    user.createFilm(),
  ]);
});

const ID = "5f0c9c0e-6f0e-4c55-9b3c-0a9d9f5d3c11";
const randomId = () => crypto.randomUUID();
const GOOD = { title: "Harbour", textPrompt: "A harbour at dawn" };
const JSON_TYPE = { "content-type": "application/json" };

const everything = async () => [
  await footprint(sql, user.id),
  await sql`select * from keyframe.projects where id = ${projectId}`,
  await sql`select *, keyframe_private.webhook_secrets_of(id) from keyframe.webhook_endpoints where id = ${webhookId}`,
  await sql`select id from keyframe.webhook_deliveries where endpoint_id = ${webhookId}`,
];

async function refused(path: string, options: CallOptions) {
  const before = await everything();
  const { status, error } = await user.call(path, options);
  expect(await everything()).toEqual(before);
  return [status, error?.code, ...(error?.details ? [error.details.map((one) => one.path)] : [])];
}
const post = (options: CallOptions) => refused("/api/projects", { method: "POST", ...options });

describe("a body", () => {
  const notUtf8 = [...new TextEncoder().encode('{"textPrompt": "b", "title": "'), 0xc3, 0x28, 0x22, 0x7d];
  test.each<[what: string, body: BodyInit]>([
    ["that is empty", ""],
    ["that is cut off", '{"title": "Harb'],
    ["with a comma too many", '{"title": "a", "textPrompt": "b",}'],
    ["of two objects", '{"title": "a", "textPrompt": "b"} {}'],
    ["with a raw control character", '{"title": "a\u0001", "textPrompt": "b"}'],
    ["of bytes that are no UTF-8: never a replacement character in a title", new Uint8Array(notUtf8)],
  ])("a body %s → 400 invalid_json, for POST and PATCH, and nothing changed", async (_what, body) => {
    for (const [method, path] of [
      ["POST", "/api/projects"],
      ["PATCH", `/api/projects/${projectId}`],
    ] as const) {
      expect(await refused(path, { method, body, headers: JSON_TYPE })).toEqual([400, "invalid_json"]);
    }
  });

  test("a body of 30,000 nested lists → 400, no crash", async () => {
    expect((await post({ body: "[".repeat(30_000) + "]".repeat(30_000), headers: JSON_TYPE }))[0]).toBe(400);
  });

  test.each([
    ["no Content-Type", {}],
    ["text/plain", { "content-type": "text/plain" }],
    ["a form", { "content-type": "application/x-www-form-urlencoded" }],
    ["JSON in another charset", { "content-type": "application/json; charset=utf-16" }],
    ["a type that only begins like JSON", { "content-type": "application/jsonp" }],
    ["compressed JSON: a small body cannot swell", { ...JSON_TYPE, "content-encoding": "gzip" }],
  ])("a body under %s → 415 unsupported_media_type, and nothing changed", async (_name, headers) => {
    // Bytes, because fetch gives a text a Content-Type of its own.
    const body = new TextEncoder().encode(JSON.stringify(GOOD));
    expect(await post({ body, headers })).toEqual([415, "unsupported_media_type"]);
  });

  test("a body under application/json with charset=UTF-8 in capitals → 201", async () => {
    const headers = { "content-type": 'Application/JSON; Charset="UTF-8"' };
    expect((await user.call("/api/projects", { body: JSON.stringify(GOOD), headers })).status).toBe(201);
  });

  /** A project's body of exactly so many bytes: JSON allows white space. */
  const bodyOf = (size: number) => JSON.stringify(GOOD).padEnd(size, " ");
  const LIMIT = 64 * 1024;

  test("a body of exactly 64 KiB, with a Content-Length or in chunks without one → 201", async () => {
    for (const body of [bodyOf(LIMIT), new Blob([bodyOf(LIMIT)]).stream()]) {
      const sent = { method: "POST", token: user.token, headers: JSON_TYPE, body };
      expect((await readReply(await sendToApi("/api/projects", sent))).status).toBe(201);
    }
  });

  test.each<[what: string, body: () => BodyInit]>([
    ["one byte more", () => bodyOf(LIMIT + 1)],
    ["1 MiB in pieces without a Content-Length", () => new Blob([bodyOf(1024 * 1024)]).stream()],
    [
      "the longest text that fits, each character escaped",
      () => JSON.stringify(GOOD).replace("dawn", "\\ud83c\\udfac".repeat(6000)),
    ],
  ])("a body of %s → 413 payload_too_large, and nothing changed", async (_what, body) => {
    expect(await post({ body: body(), headers: JSON_TYPE })).toEqual([413, "payload_too_large"]);
  });

  test("a body that is announced with 10 GB and never arrives → 413 at once", async () => {
    const url = `${inject("stack").url}/functions/v1/api/projects`;
    const lines = [
      `Authorization: Bearer ${user.token}`,
      "Content-Length: 10000000000",
      "Content-Type: application/json",
    ];
    const { status, body } = await rawExchange(url, "POST", lines);
    expect([status, JSON.parse(body).error.code]).toEqual([413, "payload_too_large"]);
  });

  // Other sentences: test/security/mcp.test.ts.
  test.each<[path: string, json: object, details: Record<string, string>]>([
    [
      "/api/projects",
      { title: "", textPrompt: "\u200b", description: "a\0b" },
      {
        title: "Must not be empty.",
        textPrompt: "Must contain a visible character.",
        description: "Must not contain control characters other than tabs and line breaks.",
      },
    ],
    [
      "/api/elements",
      { name: "Boat", kind: "animal", imagePaths: "x" },
      { kind: "Must be one of character, place, prop, style.", imagePaths: "Must be a list." },
    ],
    ["/api/projects/generate/video", { projectId: ID, audio: "yes" }, { audio: "Must be true or false." }],
  ])("POST %s of %j → details has each field, and what to do", async (path, json, details) => {
    const { error } = await user.post(path, json);
    expect(error?.details).toEqual(Object.entries(details).map(([path, message]) => ({ path, message })));
  });
});

test.each<[what: string, json: unknown, paths: string[]]>([
  ["null", null, [""]],
  ["a list", [GOOD], [""]],
  ["a text", "Harbour", [""]],
  ["a title that is a number", { title: 7 }, ["title"]],
  ["a title that is null", { title: null }, ["title"]],
  ["a title that is an object", { title: { $ne: null } }, ["title"]],
  ["a description that is a list", { description: ["x"] }, ["description"]],
  [
    "an owner and an identifier of one's choice",
    { description: "", ownerId: "x", owner_id: "x", id: "x" },
    ["ownerId", "owner_id", "id"],
  ],
  [
    "names that every object has",
    JSON.parse('{"description": "", "__proto__": {}, "constructor": {}, "toString": 1}'),
    ["__proto__", "constructor", "toString"],
  ],
  ["an empty title", { title: "" }, ["title"]],
  ["a title of 201 characters", { title: "x".repeat(201) }, ["title"]],
  ["an empty textPrompt", { textPrompt: "" }, ["textPrompt"]],
  ["a textPrompt of 4001 characters", { textPrompt: "x".repeat(4001) }, ["textPrompt"]],
  ["a description of 4001 characters", { description: "x".repeat(4001) }, ["description"]],
  ["two lines as title, nothing visible", { title: "Harbour\nat dawn", textPrompt: "\n" }, ["title", "textPrompt"]],
  ["halves of characters", { title: "a\ud83c", description: "\udfac" }, ["title", "description"]],
])(
  "POST and PATCH of a project with %s → 400 that names the field, and nothing changed",
  async (_what, json, paths) => {
    const isObject = json !== null && typeof json === "object" && !Array.isArray(json);
    const bad = [400, "invalid_request", paths];
    expect(await post({ json: isObject ? { ...GOOD, ...json } : json })).toEqual(bad);
    expect(await refused(`/api/projects/${projectId}`, { method: "PATCH", json })).toEqual(bad);
  },
);

type Row = [request: string, json: unknown, path: string];
const CANCEL = "POST /api/projects/generate/cancel";
const FRAME = "/api/projects/generate/first-frame";
const PROJECT = "/api/projects/:projectId";
const TAKE = `PATCH ${PROJECT}/predictions/${ID}`;
const FILM = "PATCH /api/films/:filmId";
const WEBHOOK = "/api/webhooks/:webhookId";

const STARTS: [step: string, fields: object, path: string][] = [
  ["first-frame", { firstFramePredictionId: ID }, "firstFramePredictionId"],
  ["first-frame", { durationSeconds: 5 }, "durationSeconds"],
  ["last-frame", { lastFramePredictionId: ID }, "lastFramePredictionId"],
  ["first-frame", { firstFrameImagePath: "projects/a.png" }, "firstFrameImagePath"],
  ["last-frame", { lastFrameImagePath: "projects/a.png" }, "lastFrameImagePath"],
  ["last-frame", { durationSeconds: 5 }, "durationSeconds"],
  ["last-frame", { audio: false }, "audio"],
  ["first-frame", { aspectRatio: "wide" }, "aspectRatio"],
  ["first-frame", { model: "nano-banana" }, "model"],
  ["first-frame", { negativePrompt: " " }, "negativePrompt"],
  ["first-frame", { referenceImagePaths: "projects/a.png" }, "referenceImagePaths"],
  ["first-frame", { referenceImagePaths: ["projects/a.png", "a.png"] }, "referenceImagePaths.1"],
  ["video", { resolution: 720 }, "resolution"],
  ["video", { audio: "true" }, "audio"],
  ["video", { seed: 0.5 }, "seed"],
  ...[0, 61, 5.5, "5"].map((durationSeconds): (typeof STARTS)[0] => ["video", { durationSeconds }, "durationSeconds"]),
  ...[0, 9, 1.5].map((count): (typeof STARTS)[0] => ["first-frame", { count }, "count"]),
  ["video", { firstFramePredictionId: "latest" }, "firstFramePredictionId"],
  ["video", { firstFrameImagePath: "keyframe-outputs/a.png" }, "firstFrameImagePath"],
  ["video", { lastFrameImagePath: "projects/../a.png" }, "lastFrameImagePath"],
  ["video", { prompt: "x".repeat(4001) }, "prompt"],
  ["video", { status: "succeeded" }, "status"],
  ["cancel", {}, "predictionId"],
];

const REFERENCES = [
  ...`projects/../keyframe-outputs/a.png projects/.. projects/a..png ../projects/a.png projects/%2e%2e/a.png
    projects/a/b.png projects//a.png projects/ /projects/a.png ./projects/a.png keyframe-outputs/a.png Projects/a.png
    a.png projects/a.png?x=1 projects/.hidden.png projects\\a.png projects/ä.png https://example.com/a.png`.split(
    /\s+/,
  ),
  ...["projects/a b.png", "projects/a.png\n", "projects/a.png\0", `projects/${"a".repeat(201)}`, "", 7],
  ["projects/a.png"],
];

const IDS = [
  ID.replaceAll("-", ""),
  `{${ID}}`,
  ID.slice(1),
  `${ID}\n`,
  ID.replace("5", "g"),
  "../",
  "' or 1=1 --",
  "",
  null,
];
const TIMES = [
  "2026-01-01",
  "2026-11-21T12:00Z",
  "2026-11-21T12:00:00",
  "2026-02-30T12:00:00Z",
  "infinity",
  1_795_000_000,
];

/** Of a webhook, made and changed. */
const WEBHOOKS: [fields: object, path: string][] = [
  [{ eventTypes: ["webhook.test"] }, "eventTypes.0"], // it is not subscribed to
  [{ eventTypes: ["project.*"] }, "eventTypes.0"],
  [{ eventTypes: "project.created" }, "eventTypes"],
  [{ enabled: "yes" }, "enabled"],
  [{ secret: "whsec_mine" }, "secret"],
  [{ url: "https://a.example/".padEnd(2049, "x") }, "url"],
  [{ url: "ftp://hooks.example.com/" }, "url"],
  ...[0, 9, 1.5].map((maxInFlight): [object, string] => [{ maxInFlight }, "maxInFlight"]),
  [{ description: "🎬".repeat(501) }, "description"],
  [{ ownerId: null }, "ownerId"],
];

const ELEMENTS: [fields: object, path: string][] = [
  [{ imagePaths: Array.from({ length: 9 }, (_, at) => `projects/${at}.png`) }, "imagePaths"],
  [{ imagePaths: ["projects/a.png", "projects/a.png"] }, "imagePaths"],
  [{ name: "An@na" }, "name"],
  [{ text: "a".repeat(1001) }, "text"],
  [{ kind: "hero" }, "kind"],
];

const ROWS: Row[] = [
  [`PATCH ${PROJECT}`, {}, ""],
  [`PATCH ${PROJECT}`, { referenceImagePath: "keyframe-outputs/a.png" }, "referenceImagePath"],
  [`PATCH ${PROJECT}`, { aspectRatio: "16/9" }, "aspectRatio"],
  [`PATCH ${PROJECT}`, { selected: { film: ID } }, "selected.film"],
  [`PATCH ${PROJECT}`, { selected: { video: "latest" } }, "selected.video"],
  [TAKE, {}, ""],
  [TAKE, { hidden: null }, "hidden"],
  [TAKE, { hidden: "true" }, "hidden"],
  [TAKE, { hidden: true, status: "succeeded" }, "status"],
  [FILM, {}, ""],
  [FILM, { title: "" }, "title"],
  [FILM, { projectIds: [ID, ID.toUpperCase()] }, "projectIds"],
  [FILM, { projectIds: Array.from({ length: 501 }, randomId) }, "projectIds"],
  [FILM, { projectIds: ["1"] }, "projectIds.0"],
  [FILM, { projectIds: null }, "projectIds"],
  ...["tomorrow", 7, "2036-13-01T00:00:00.000Z"].map(
    (expiresAt): Row => [`POST /api/films/:filmId/share`, { expiresAt }, "expiresAt"],
  ),
  [`POST ${WEBHOOK}/secret/rotate`, { overlapHours: 73 }, "overlapHours"],
  [`PATCH ${WEBHOOK}`, {}, ""],
  [`PATCH ${WEBHOOK}`, { url: null }, "url"],
  [`POST ${WEBHOOK}/recover`, {}, "since"],
  ...TIMES.map((since): Row => [`POST ${WEBHOOK}/recover`, { since }, "since"]),
  ...IDS.map((projectId): Row => [CANCEL, { projectId, predictionId: ID }, "projectId"]),
  ...STARTS.map(([step, more, path]): Row => [`POST /api/projects/generate/${step}`, { projectId: ID, ...more }, path]),
  ...REFERENCES.map(
    (path): Row => [`POST ${FRAME}`, { projectId: ID, referenceImagePath: path }, "referenceImagePath"],
  ),
  ...WEBHOOKS.map(([more, path]): Row => ["POST /api/webhooks", { url: SILENT, ...more }, path]),
  ...WEBHOOKS.map(([more, path]): Row => [`PATCH ${WEBHOOK}`, { enabled: true, ...more }, path]),
  ...ELEMENTS.map(([more, path]): Row => ["POST /api/elements", { kind: "character", name: "Anna", ...more }, path]),
  ["GET /api/usage?from=2026-13-01", undefined, "from"],
  ["GET /api/usage?from=today", undefined, "from"],
  ["GET /api/usage?to=2026-03-01T00:00:00Z", undefined, "to"],
  ["GET /api/usage?groupBy=owner", undefined, "groupBy"],
  ["GET /api/usage?until=2026-03-01", undefined, "until"],
  ["GET /api/projects?include=everything", undefined, "include"],
  ["GET /api/projects?include=predictions&include=predictions", undefined, "include"],
  ["GET /api/projects?search=", undefined, "search"],
  [`GET ${PROJECT}/predictions?step=third-frame`, undefined, "step"],
  [`GET ${PROJECT}/predictions?step=First-Frame`, undefined, "step"],
  [`GET ${PROJECT}/predictions?step=`, undefined, "step"],
  [`GET ${PROJECT}/predictions?status=failed`, undefined, "status"],
  [`GET ${PROJECT}/predictions?hidden=1`, undefined, "hidden"],
  [`GET ${WEBHOOK}/deliveries?status=failed`, undefined, "status"],
  [`GET ${FRAME}`, undefined, "projectId"],
  [`GET ${FRAME}?predictionId=${ID}`, undefined, "projectId"],
  [`GET ${FRAME}?projectId=${ID}&project_id=${ID}`, undefined, "project_id"],
  [`GET ${FRAME}?projectId=${ID}&projectId=${ID}`, undefined, "projectId"],
  [`GET ${FRAME}?projectId=${ID}&predictionId=`, undefined, "predictionId"],
  ...["0", "", "true", "1&deep=1"].map((deep): Row => [`GET /api/health?deep=${deep}`, undefined, "deep"]),
];

test.each(
  ROWS.map(([request, json, path]) => [request, JSON.stringify(json)?.slice(0, 80) ?? "", json, path] as const),
)("%s %s → 400 that names the field, and nothing changed", async (request, _shown, json, path) => {
  const ids: Record<string, string> = { projectId, webhookId, filmId };
  const [method = "", address = ""] = request.replace(/:(\w+Id)/, (_, name) => ids[name] ?? "").split(" ");
  expect(await refused(address, { method, json })).toEqual([400, "invalid_request", [path]]);
});

// Which characters a text may have: test/db/projects/texts.test.ts.
test.each([
  [
    "4000 emoji as textPrompt and as description: characters count, not UTF-16 units",
    { title: "🎬".repeat(200), textPrompt: "🎬".repeat(4000), description: "🎞".repeat(4000) },
  ],
  [
    "text that looks like SQL and HTML, joiners, combining marks, lines and tabs",
    {
      title: "'); drop table projects; -- می\u200cخواهم क्\u200dष 👩‍👩‍👧 מִגְדַּלּוֹר",
      textPrompt: "<script>alert(1)</script>\n\tat dawn, e\u0301",
    },
  ],
])("POST of a project with %s → 201, and the answer has what was sent", async (_name, fields) => {
  const { status, data } = await user.post("/api/projects", { ...GOOD, ...fields });
  expect([status, data]).toEqual([201, expect.objectContaining({ ...GOOD, description: "", ...fields })]);
});

const encode = (text: string) => btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const LISTS = () => [
  "/api/projects",
  `/api/projects/${projectId}/predictions`,
  `/api/webhooks/${webhookId}/deliveries`,
];

test.each([
  ...["0", "101", "abc", "1.0", "٣"].map((value) => ["limit", value]),
  ...["", "x", "%%%%", ID, "A".repeat(5000)].map((value) => ["cursor", value]),
  ["cursor", encode(`2026-13-01T00:00:00+00:00 ${ID}`)],
  ["cursor", encode("2026-01-01T00:00:00+00:00")],
  ["cursor", encode("2026-01-01T00:00:00+00:00 1")],
  ["cursor", encode("2026-01-01T00:00:00+00:00 ' or 1=1 --")],
  ["cursor", encode(`2026-01-01T00:00:00+00:00 ${ID} ${ID}`)],
])("%s=%s on every list → 400 that names the parameter", async (name, value) => {
  for (const path of LISTS()) {
    const bad = [400, "invalid_request", [name]];
    expect(await refused(`${path}?${new URLSearchParams([[name, value]])}`, {})).toEqual(bad);
  }
});

test("a cursor with one character cut off or changed → 400, or a page of the caller: never a fault", async () => {
  await user.createProject();
  const { data } = await user.call("/api/projects?limit=1");
  const cursor: string = Object(data).nextCursor;
  for (let at = 0; at < cursor.length; at += 7) {
    for (const broken of [cursor.slice(0, at), `${cursor.slice(0, at)}A${cursor.slice(at + 1)}`]) {
      const { status } = await user.call(`/api/projects?${new URLSearchParams({ cursor: broken })}`);
      expect([200, 400]).toContain(status);
    }
  }
});
