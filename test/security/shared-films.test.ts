import { beforeAll, describe, expect, test } from "vitest";
import { createApiApp } from "../support/api/app.ts";
import { callApi, requestInit, sendToApi } from "../support/api/call.ts";
import { readReply } from "../support/api/envelope.ts";
import { openShared, shareFilm } from "../support/api/shares.ts";
import { signUp, type User } from "../support/api/user.ts";
import { rest } from "../support/security/rest.ts";

// A link is the only credential of those who open it. What the database decides of links: test/db/projects/film-shares.test.ts; that they
// are their owner's alone: test/api/others-resources.test.ts and test/db/rights/oauth-clients.test.ts.

const SECRET_PROMPT = "A prompt that no viewer may read";
let user: User;
let filmId: string;
let shareId: string;
let token: string;
beforeAll(async () => {
  user = await signUp();
  filmId = await user.createFilm("The pier");
  const projectId = await user.createProject({ filmId, title: "The boat leaves", textPrompt: SECRET_PROMPT });
  await user.createProject({ filmId, title: "Open sea", textPrompt: SECRET_PROMPT });
  await user.finish(await user.start("first-frame", { projectId }));
  await user.finish(await user.start("video", { projectId }));
  ({ shareId, token } = await shareFilm(user, filmId));
});

describe("an open link", () => {
  test("GET of a shared film without a session → titles in order and a playable video; no prompt, no id, no cost", async () => {
    const film = await openShared(token);
    expect(film).toEqual({
      title: "The pier",
      shots: [
        {
          title: "The boat leaves",
          video: {
            url: expect.any(String),
            expiresAt: expect.any(String),
            contentType: "video/mp4",
            width: expect.any(Number),
            height: expect.any(Number),
            durationSeconds: expect.any(Number),
          },
        },
        { title: "Open sea", video: null },
      ],
    });
    const file = await fetch(film.shots[0]?.video?.url ?? "");
    expect([file.status, file.headers.get("content-type")]).toEqual([200, "video/mp4"]);
    await file.body?.cancel();
    const text = await (await sendToApi(`/api/shared/${token}`)).text();
    expect(text).not.toContain(SECRET_PROMPT);
    // The signed address names the file by its ids, which open nothing (docs/security.md).
    const withoutUrls = text.replaceAll(/"url":"[^"]*"/g, "");
    for (const id of [user.id, filmId, shareId]) expect(withoutUrls).not.toContain(id);
  });

  test("the answer for a shared film, also an error → is not cached, and its address is sent to no other page", async () => {
    for (const [path, status] of [
      [`/api/shared/${token}`, 200],
      [`/api/shared/${"t".repeat(43)}`, 404],
    ] as const) {
      const { headers, ...response } = await sendToApi(path);
      await response.body?.cancel();
      expect([path, headers.get("cache-control"), headers.get("referrer-policy"), headers.get("etag")]).toEqual([
        ...[path, "no-store", "no-referrer", null],
      ]);
      expect((await callApi(path)).status).toBe(status);
    }
  });

  test("the token of a link → opens nothing else: no film, no share, no row and no function of the Data API", async () => {
    for (const path of ["/api/films", `/api/films/${filmId}`, `/api/films/${filmId}/shares`])
      expect([path, (await callApi(path, { token })).status]).toEqual([path, 401]);
    const json = { token_hash: "0".repeat(64) };
    for (const schema of ["keyframe", "keyframe_worker"]) {
      const headers = { "accept-profile": schema, "content-profile": schema };
      for (const caller of ["anon", { token: user.token }] as const) {
        const { status } = await rest(caller, "POST", "/rpc/read_shared_film", { json, headers });
        expect([schema, caller, status]).toEqual([
          schema,
          caller,
          expect.toSatisfy((code) => code >= 401 && code <= 404),
        ]);
      }
    }
    const anonymous = await rest("anon", "POST", "/rpc/share_film", { json: { film_id: filmId } });
    expect(anonymous.status).toBe(401);
  });

  test("a session or a key sent with a link → ignored", async () => {
    for (const sent of ["forged.token.here", user.token, "sb_secret_guessed"])
      expect([sent, (await callApi(`/api/shared/${token}`, { token: sent })).status]).toEqual([sent, 200]);
    const { status } = await callApi(`/api/shared/${token}`, { headers: { "keyframe-user": user.id } });
    expect(status).toBe(200);
  });
});

describe("a link with an invalid token", () => {
  const app = () => {
    const calls: unknown[] = [];
    const made = createApiApp({
      fetcher: async (input, init) => {
        const request = new Request(input, init);
        calls.push(await request.clone().json());
        return await fetch(request);
      },
    });
    const open = async (one: string) =>
      readReply(await made.fetch(new Request(`http://api.test/api/shared/${one}`, requestInit({}))));
    return { open, calls, log: made.log };
  };

  test.each([
    ["too short", "t".repeat(42)],
    ["too long", "t".repeat(44)],
    ["with a character of base64 that an address may not have", `${"t".repeat(42)}%2B`],
    ["with SQL", `${"t".repeat(30)}'%20or%20true--`],
    ["an id", crypto.randomUUID()],
    ["of another kind", "sb_secret_guessed"],
  ])("a link with a token that is %s → 404, and the database is not asked", async (_what, one) => {
    const { open, calls } = app();
    expect((await open(one)).error?.code).toBe("not_found");
    expect(calls).toEqual([]);
  });

  test("a guessed token of a link → 404 after one lookup of its hash; neither the log nor the database has the token", async () => {
    const { open, calls, log } = app();
    const guess = "g".repeat(43);
    const { status, error } = await open(guess);
    expect([status, error?.code]).toEqual([404, "not_found"]);
    expect(calls).toEqual([{ token_hash: expect.stringMatching(/^[0-9a-f]{64}$/) }]);
    await open(token);
    expect(log.map((line) => JSON.parse(line).route)).toEqual(["/api/shared/:token", "/api/shared/:token"]);
    for (const one of [guess, token]) expect(JSON.stringify(calls) + log.join()).not.toContain(one);
  });
});

test("a share that ends before it begins → 400 that says why", async () => {
  const ask = (expiresAt: unknown) => user.post(`/api/films/${filmId}/share`, { expiresAt });
  expect((await ask("2020-01-01T00:00:00.000Z")).error?.message).toBe("expiresAt must be in the future.");
  const { expiresAt } = await shareFilm(user, filmId, { expiresAt: "2036-11-21T12:00:00.000Z" });
  expect(expiresAt).toBe("2036-11-21T12:00:00.000Z");
});
