"use client";

import { type Cost, hasEnded, type Output, type Prediction, type Step, type StepBody } from "keyframe-client";
import { useKeyframe, usePredictions, useProject } from "keyframe-client/react";
import { type ComponentProps, type SyntheticEvent, useId, useRef, useState } from "react";

const NAME: Record<Step, string> = { "first-frame": "First frame", "last-frame": "Last frame", video: "Video" };

type Props<S extends Step> = {
  projectId: string;
  step: S;
  /** The body of another take's start, such as `{ durationSeconds: 5 }`. */
  body?: Omit<StepBody[S], "projectId">;
};

/** The takes of a step, newest first: select one, hide or delete it, start another. Needs a KeyframeProvider around it. */
export function TakePicker<S extends Step>({ projectId, step, body }: Props<S>) {
  const keyframe = useKeyframe();
  const name = useId();
  const group = useRef<HTMLFieldSetElement>(null);
  const project = useProject(projectId);
  const list = usePredictions(projectId, { step, limit: 100 }); // the most of one read
  const [isStarting, setStarting] = useState(false);
  const [problem, setProblem] = useState("");
  const [choice, setChoice] = useState<string>();
  const lastChoice = useRef("");
  const saving = useRef(Promise.resolve());

  const shown = project.data?.takes[step];
  const takes = [...(list.data?.predictions ?? [])];
  if (list.data && shown && !takes.some(({ predictionId }) => predictionId === shown.predictionId)) takes.push(shown);
  const selected = choice ?? project.data?.selected[step] ?? shown?.predictionId;
  const running = takes.filter((take) => !hasEnded(take)).length;
  const failure = project.error ?? list.error;
  const refetch = () => {
    project.refetch();
    list.refetch();
  };

  async function act(call: () => Promise<unknown>) {
    setProblem("");
    await call().catch((error: unknown) => setProblem(error instanceof Error ? error.message : String(error)));
  }

  /** One choice is saved at a time, because arrow keys may choose faster. The last one wins. */
  function select(predictionId: string) {
    setChoice(predictionId);
    lastChoice.current = predictionId;
    saving.current = saving.current.then(async () => {
      if (lastChoice.current !== predictionId) return;
      await act(() => keyframe.projects.change(projectId, { selected: { [step]: predictionId } }));
      if (lastChoice.current === predictionId) setChoice(undefined);
    });
  }

  async function start() {
    setStarting(true);
    await act(() => keyframe.generate(step, { ...body, projectId } as StepBody[S]));
    setStarting(false);
  }

  return (
    <fieldset ref={group} tabIndex={-1} className="flex min-w-0 flex-col gap-3 outline-none">
      <legend className="mb-3 text-sm font-medium">{NAME[step]}: takes</legend>
      <div className="flex flex-wrap items-center gap-3 text-sm">
        <Button label="Start another take" disabled={isStarting} onClick={start} />
        <p role="status" className="text-muted-foreground">
          {running > 0 ? `${running} running` : list.data && `${takes.length} shown`}
        </p>
        <p role="alert" className="text-destructive">
          {problem || failure?.message}
        </p>
        {failure && <Button label="Try again" onClick={refetch} />}
      </div>
      <div className="grid grid-cols-[repeat(auto-fill,minmax(10rem,1fr))] gap-3">
        {!list.data && !failure && <div className="aspect-square animate-pulse rounded-lg bg-muted" />}
        {takes.map((take) => (
          <Take
            key={take.predictionId}
            {...{ take, name, refetch }}
            isSelected={take.predictionId === selected}
            aspectRatio={project.data?.aspectRatio.replace(":", " / ")}
            onSelect={() => select(take.predictionId)}
            change={(call) => act(call).then(() => group.current?.focus())} // its button may be gone
          />
        ))}
      </div>
    </fieldset>
  );
}

type TakeProps = Record<"onSelect" | "refetch", () => void> & {
  take: Prediction;
  name: string;
  isSelected: boolean;
  aspectRatio: string | undefined;
  change: (call: () => Promise<unknown>) => void;
};

function Take({ take, name, isSelected, aspectRatio, onSelect, change, refetch }: TakeProps) {
  const keyframe = useKeyframe();
  const [isSure, setSure] = useState(false);
  const { output, cost, error, progress, hidden } = take;
  const time = new Date(take.createdAt).toLocaleString(undefined, { dateStyle: "short", timeStyle: "short" });
  const what = `the take of ${time}`;
  const cancel = () => change(() => keyframe.cancel(take));
  const hide = () => change(() => keyframe.predictions.setHidden(take, !hidden));
  const remove = {
    label: isSure ? "Delete for good" : "Delete",
    onClick: () => (isSure ? change(() => keyframe.predictions.delete(take)) : setSure(true)),
    onBlur: () => setSure(false),
  };
  const Card = output ? "label" : "div";
  return (
    <div className="flex min-w-0 flex-col rounded-lg border bg-card text-xs text-card-foreground has-[:checked]:border-primary has-[input:focus-visible]:ring-[3px] has-[input:focus-visible]:ring-ring/50 [&_progress::-moz-progress-bar]:bg-primary [&_progress::-webkit-progress-bar]:bg-border [&_progress::-webkit-progress-value]:bg-primary [&_progress]:bg-border">
      <Card className="relative" onPointerEnter={play} onPointerLeave={pause} onFocus={play} onBlur={pause}>
        {output && <input type="radio" className="sr-only" {...{ name }} checked={isSelected} onChange={onSelect} />}
        <span className="grid place-items-center overflow-hidden rounded-t-lg bg-muted" style={{ aspectRatio }}>
          {output && <Picture {...{ output, refetch }} />}
          {error && <span className="line-clamp-5 p-2">{error.message}</span>}
          {!hasEnded(take) && <progress aria-label={`Progress of ${what}`} value={progress ?? undefined} />}
        </span>
        {isSelected && (
          <span aria-hidden className="absolute top-2 left-2 rounded-md bg-primary px-1.5 text-primary-foreground">
            Selected
          </span>
        )}
        <span className="block truncate px-2 pt-2">{time}</span>
        <span className="flex h-4 justify-between gap-2 px-2 text-muted-foreground">
          <span className="truncate">{stateOf(take)}</span> <span className="shrink-0">{cost && costOf(cost)}</span>
        </span>
      </Card>
      <div className="flex gap-1 p-2">
        {!hasEnded(take) && <Button label="Cancel" {...{ what }} onClick={cancel} />}
        {hasEnded(take) && <Button label={hidden ? "Show" : "Hide"} {...{ what }} onClick={hide} />}
        {hasEnded(take) && <Button {...{ what }} {...remove} />}
      </div>
    </div>
  );
}

const videoIn = ({ currentTarget }: SyntheticEvent) => currentTarget.querySelector("video");
const play = (event: SyntheticEvent) =>
  void videoIn(event)
    ?.play()
    .catch(() => undefined); // paused before it played
const pause = (event: SyntheticEvent) => videoIn(event)?.pause();

function Picture({ output, refetch }: { output: Output; refetch: () => void }) {
  const onError = () => Date.parse(output.expiresAt) < Date.now() && refetch(); // for a new URL
  const given = { className: "size-full object-contain", onError };
  if (output.contentType.startsWith("image/")) return <img {...given} src={output.url} alt="" loading="lazy" />;
  return <video {...given} src={`${output.url}#t=0.1`} muted loop playsInline preload="metadata" tabIndex={-1} />;
}

function stateOf({ status, queuePosition, progress, hidden, outdated }: Prediction): string {
  if (status === "failed" || status === "canceled") return status === "failed" ? "Failed" : "Canceled";
  if (status === "succeeded") return [hidden && "Hidden", outdated && "Outdated"].filter(Boolean).join(", ");
  if (queuePosition) return `Number ${queuePosition} in the queue`;
  return progress === null ? "Running" : `${Math.floor(progress * 100)} %`;
}

const DOLLARS = new Intl.NumberFormat(undefined, { style: "currency", currency: "USD", maximumFractionDigits: 4 });

function costOf({ state, amountMicros, atMostMicros }: Cost): string {
  if (state === "released") return "not billed";
  if (amountMicros !== null) return DOLLARS.format(amountMicros / 1e6);
  return atMostMicros === null ? "cost unknown" : `up to ${DOLLARS.format(atMostMicros / 1e6)}`;
}

/** `what` it is for: for screen readers. */
const Button = ({ label, what, ...props }: ComponentProps<"button"> & { label: string; what?: string }) => (
  <button
    type="button"
    className="h-7 w-fit rounded-md border bg-background px-2 text-xs font-medium text-foreground outline-none hover:bg-accent hover:text-accent-foreground focus-visible:ring-[3px] focus-visible:ring-ring/50 disabled:opacity-50"
    {...props}
  >
    {label} {what && <span className="sr-only">{what}</span>}
  </button>
);
