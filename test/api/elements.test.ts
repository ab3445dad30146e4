import { expect, test } from "vitest";
import { element, elementPage } from "../../shared/contract/elements.ts";
import { estimate } from "../../shared/contract/costs.ts";
import { dataOf } from "../support/api/envelope.ts";
import { changeFilm } from "../support/api/films.ts";
import { changeProject, readProject } from "../support/api/projects.ts";
import { uniquePrompt } from "../support/api/provider.ts";
import { useUser } from "../support/api/user.ts";
import { download } from "../support/film/ending.ts";
import { drawImage } from "../support/media/images.ts";

// What a start makes of elements, and their limits: test/db/projects/elements.test.ts.

const user = useUser();
const send = (method: string, id: string, json?: object) =>
  user.call(`/api/elements/${id}`, { method, ...(json && { json }) });

test("a frame with a cast → its own input lists the elements, a read of its film does not; sent again → the same input", async () => {
  const [photo, view] = [await user.upload(await drawImage()), await user.upload(await drawImage())];
  const anna = await user.createElement({ name: "Anna", text: "A woman in a red coat", imagePaths: [photo] });
  const pier = await user.createElement({ kind: "place", name: "The pier", imagePaths: [view] });
  const filmId = await user.createFilm();
  expect((await changeFilm(user, filmId, { elementIds: [anna.toUpperCase(), pier] })).elementIds).toEqual([anna, pier]);
  const projectId = await user.createProject({ filmId });
  expect((await readProject(user, projectId)).elementIds).toBe(null);
  const prompt = uniquePrompt("@anna waits on @The pier");

  const estimated = await user.post("/api/projects/generate/first-frame/estimate", { projectId, prompt });
  const made = await user.finish(await user.start("first-frame", { projectId, prompt }));
  await download(made);
  expect(made.input).toMatchObject({
    prompt: `${prompt.replace("@anna", "Anna").replace("@The", "The")}\n\nAnna: A woman in a red coat`,
    referenceImagePaths: [photo, view],
    referenceImagePath: photo,
    elements: [
      { elementId: anna, name: "Anna", text: "A woman in a red coat", imagePaths: [photo] },
      { elementId: pier, name: "The pier", text: "", imagePaths: [view] },
    ],
  });
  expect(made.cost?.atMostMicros).toBe(estimate.parse(dataOf(estimated, 200)).atMostMicros);

  const { elements: _, ...input } = made.input;
  const { data: film } = await user.call(`/api/films/${filmId}`);
  expect(film).toMatchObject({ shots: [{ takes: { "first-frame": { predictionId: made.predictionId, input } } }] });
  expect(JSON.stringify(film)).not.toContain('"elements"');

  const changed = element.parse(dataOf(await send("PATCH", anna, { text: "A woman in a yellow coat" }), 200));
  expect(changed).toMatchObject({ kind: "character", name: "Anna", text: "A woman in a yellow coat" });
  const { elements } = elementPage.parse(dataOf(await user.call("/api/elements"), 200));
  expect(elements.map(({ elementId }) => elementId)).toEqual([pier, anna]);
  expect(elements[1]).toEqual(changed);
  const again = await user.start("first-frame", { projectId, ...made.input, model: made.model });
  expect(again.input).toEqual(made.input);
  await changeProject(user, projectId, { elementIds: [] });
  expect((await user.start("first-frame", { projectId, prompt: uniquePrompt("A boat") })).input.elements).toEqual([]);
});
