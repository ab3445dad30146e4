import { IconMovie } from "@tabler/icons-react";
import type { ListedProject, Prediction } from "../../../client/index.ts";
import classes from "./projects.module.css";
import { useRenewOutput } from "./use-renew-output.ts";

/** What stands for a film: its first frame, else its last, else the video's first picture, else a film without pictures. */
export function ProjectPicture({ project }: { project: ListedProject }) {
  const { predictions } = project;
  const run = [predictions?.["first-frame"], predictions?.["last-frame"], predictions?.video].find(
    (one) => one?.output != null,
  );
  return (
    <div className={classes.picture}>
      {run?.output == null ? <NoPicture /> : <Picture key={run.output.path} run={run} address={run.output.url} />}
    </div>
  );
}

const NoPicture = () => (
  <div className={classes.noPicture} aria-hidden>
    <IconMovie size={40} stroke={1.2} />
  </div>
);

/** Its words are in the title beside it, so it is silent. */
function Picture({ run, address }: { run: Prediction; address: string }) {
  const { round, isBroken, onFailed, onLoaded } = useRenewOutput(run);
  if (isBroken) return <NoPicture />;
  if (run.step !== "video") {
    return (
      <img
        key={round}
        className={classes.media}
        src={address}
        alt=""
        loading="lazy"
        onError={onFailed}
        onLoad={onLoaded}
      />
    );
  }
  return (
    <video
      key={round}
      className={classes.media}
      src={`${address}#t=0.1`}
      preload="metadata"
      muted
      tabIndex={-1}
      aria-hidden
      onError={onFailed}
      onLoadedData={onLoaded}
    />
  );
}
