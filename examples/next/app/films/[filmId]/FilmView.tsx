"use client";
import { type FilmWithShots, hasEnded, type Shot, type ShotPrediction } from "keyframe-client";
import { useFilm, useKeyframe } from "keyframe-client/react";
import Link from "next/link";
import { useState } from "react";
import { WithKeyframe } from "../../../lib/browser";

export const FilmView = ({ film }: { film: FilmWithShots }) => (
  <WithKeyframe>
    <Film initialData={film} />
  </WithKeyframe>
);

/** Shows what the server has read, also in the page that it sends, and follows what runs. */
function Film({ initialData }: { initialData: FilmWithShots }) {
  const { data: film = initialData, error } = useFilm(initialData.filmId, { initialData });
  return (
    <>
      <header>
        <h1>{film.title}</h1>
        <Link href="/">All films</Link>
      </header>
      {film.shots.map((shot) => (
        <ShotView key={shot.projectId} shot={shot} />
      ))}
      {error && <p role="alert">{error.message}</p>}
    </>
  );
}

function ShotView({ shot: { projectId, title, predictions, takes } }: { shot: Shot }) {
  const keyframe = useKeyframe();
  const [problem, setProblem] = useState("");
  const [isStarting, setStarting] = useState(false);
  const runs = [predictions["first-frame"], predictions.video].filter((run) => run !== null);
  const frame = takes["first-frame"]?.output;
  const video = takes.video?.output;

  async function makeVideo() {
    setStarting(true);
    setProblem("");
    await keyframe.generate("video", { projectId }).catch((error: unknown) => setProblem(String(error)));
    setStarting(false);
  }

  return (
    <section>
      <h2>{title}</h2>
      {video && <video src={video.url} controls muted />}
      {/* biome-ignore lint/performance/noImgElement: a signed URL changes, and each would be another file to optimize */}
      {frame && !video && <img src={frame.url} alt={`First frame of ${title}`} />}
      <p role="status">{runs.map(stateOf).join(" · ")}</p>
      {frame && (
        <button type="button" onClick={makeVideo} disabled={isStarting || !runs.every(hasEnded)}>
          Make the video
        </button>
      )}
      {problem && <p role="alert">{problem}</p>}
    </section>
  );
}

const stateOf = ({ step, status, progress, error }: ShotPrediction) =>
  `${step}: ${error?.message ?? status}${progress === null || status === "succeeded" ? "" : ` ${Math.floor(progress * 100)} %`}`;
