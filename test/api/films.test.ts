import { describe, expect, test } from "vitest";
import { filmWithShots } from "../../shared/contract/films.ts";
import { openDatabase } from "../support/api/database.ts";
import { changeFilm, listFilms, readFilm } from "../support/api/films.ts";
import { changeProject, readProject } from "../support/api/projects.ts";
import { uniquePrompt } from "../support/api/provider.ts";
import { startStuck } from "../support/api/stuck.ts";
import { useUser } from "../support/api/user.ts";
import { download } from "../support/film/ending.ts";

const sql = openDatabase();
const user = useUser();

async function filmOf(shots: number) {
  const filmId = await user.createFilm();
  const projectIds = [];
  while (projectIds.length < shots) projectIds.push(await user.createProject({ filmId }));
  return { filmId, projectIds };
}

test("a film with shots and takes → one read has everything in order, with files that can be played", async () => {
  const { filmId, projectIds } = await filmOf(2);
  const [projectId = "", bare = ""] = projectIds;
  const frame = await user.finish(await user.start("first-frame", { projectId }));
  const video = await user.finish(await user.start("video", { projectId }));
  const failed = await user.finish(await user.start("video", { projectId, prompt: uniquePrompt("[[fault:failed]]") }));
  expect([frame.status, video.status, failed.status]).toEqual(["succeeded", "succeeded", "failed"]);

  const { createdAt, updatedAt, shots, ...rest } = await readFilm(user, filmId.toUpperCase());
  expect(rest).toEqual({ filmId, title: "The pier", description: "", projectIds, elementIds: [] });
  expect(updatedAt > createdAt).toBe(true); // two shots were added
  const read = await Promise.all([projectId, bare].map((id) => readProject(user, id)));
  expect(shots).toEqual(read.map((one) => filmWithShots.shape.shots.element.parse(one))); // without the elements of inputs
  expect(shots[0]?.takes).toMatchObject({ "last-frame": null, video: { predictionId: video.predictionId } });
  expect(shots[0]?.predictions.video).toMatchObject({ predictionId: failed.predictionId, status: "failed" });
  if (shots[0]?.takes.video) await download(shots[0].takes.video);
});

test("PATCH of a film → its order and texts; of a project → puts it into a film, out of it, or into another one", async () => {
  const { filmId, projectIds } = await filmOf(2);
  const another = await user.createFilm("The quay");
  const [a = "", b = ""] = projectIds;
  expect((await changeFilm(user, filmId, { projectIds: [b.toUpperCase(), a] })).projectIds).toEqual([b, a]);
  expect((await changeProject(user, a, { filmId: another })).filmId).toBe(another);
  expect((await changeProject(user, b, { filmId: null })).filmId).toBe(null);
  expect(await readFilm(user, filmId)).toMatchObject({ projectIds: [], shots: [] });
  const texts = { title: "The pier, second draft", description: "Three shots" };
  expect(await changeFilm(user, another, { ...texts, projectIds: [b, a] })).toMatchObject({
    ...texts,
    projectIds: [b, a],
  });
  expect((await listFilms(user, { limit: "2" })).films.map((one) => [one.filmId, one.projectIds])).toEqual([
    [another, [b, a]],
    [filmId, []],
  ]);
});

describe("deletion", () => {
  const remove = (filmId: string, query = "") => user.call(`/api/films/${filmId}${query}`, { method: "DELETE" });

  test("DELETE of a film with ?projects=delete while a shot is generated → 409, all stays; after its end → projects go too", async () => {
    const { filmId, projectIds } = await filmOf(2);
    const projectId = projectIds[1] ?? "";
    const { predictionId } = await startStuck(sql, user, "first-frame", projectId);
    const { status, error } = await remove(filmId, "?projects=delete");
    expect([status, error?.code]).toEqual([409, "generation_in_progress"]);
    expect((await readFilm(user, filmId)).projectIds).toEqual(projectIds);
    await user.post("/api/projects/generate/cancel", { projectId, predictionId });
    expect((await remove(filmId, "?projects=delete")).status).toBe(200);
    for (const id of projectIds) expect((await user.call(`/api/projects/${id}`)).status).toBe(404);
  });
});
