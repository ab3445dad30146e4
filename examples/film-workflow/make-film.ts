// A person at a terminal requests a film of three shots, and chooses its pictures.
import { readFileSync } from "node:fs";
import process from "node:process";
import { createInterface } from "node:readline/promises";
import { connect } from "@restatedev/restate-sdk-clients";
import { createKeyframeClient } from "keyframe-client";
import type { FilmWorkflow, Script } from "./film.ts";

const { KEYFRAME_URL: url = "http://127.0.0.1:54321", KEYFRAME_DATA = "../../.keyframe", PORT = "54380" } = process.env;
const keys = new URL(`${KEYFRAME_DATA}/keys.json`, import.meta.url);
const { publishableKey, demoPassword, secretKey } = JSON.parse(readFileSync(keys, "utf8"));

// Your app's backend knows its user from the session. Here it is the demo user of `npm start`.
const signIn = await fetch(`${url}/auth/v1/token?grant_type=password`, {
  method: "POST",
  headers: { apikey: publishableKey, "content-type": "application/json" },
  body: JSON.stringify({ email: "demo@keyframe.local", password: demoPassword }),
});
const userId: string = (await signIn.json()).user.id;

const script: Script = {
  userId,
  opening: "A red boat at a pier, at dawn, in fog",
  shots: [
    { title: "Leaving", action: "The boat leaves the pier", ending: "The boat on open water, the fog lifts" },
    { title: "The storm", action: "Waves rise, the sky darkens", ending: "The boat between high waves, rain" },
    { title: "Landfall", action: "The storm passes, an island appears", ending: "The boat at a beach, evening sun" },
  ],
  takes: 2,
};
const keyframe = createKeyframeClient({ url, secretKey, userId });
const { filmId } = await keyframe.films.create({ title: "The boat" });
const film = connect({ url: `http://127.0.0.1:${PORT}` }).workflowClient<FilmWorkflow>({ name: "film" }, filmId);
await film.workflowSubmit(script);
console.log(`Film ${filmId}: ${url}/films/${filmId}`);

const terminal = createInterface({ input: process.stdin, output: process.stdout });
let videos: string[] | undefined;
for (let made = 0; videos === undefined; ) {
  const choice = (await film.choices())[made];
  if (choice) {
    made += 1;
    for (const [index, predictionId] of choice.takes.entries()) {
      const { output } = await keyframe.predictions.read({ ...choice, predictionId });
      console.log(`\n  ${index + 1}  ${output?.url}`);
    }
    let take: string | undefined;
    while (!take) take = choice.takes[Number(await terminal.question(`\nWhich ${choice.step}? `)) - 1];
    await film.choose(take);
  }
  await new Promise((resolve) => setTimeout(resolve, 500));
  const output = await film.workflowOutput();
  if (output.ready) videos = output.result;
}
terminal.close();
console.log(`\nThe film is ready: ${videos.length} shots.`);
