import type { Prediction } from "keyframe-client";

export function StepCard({ name, run }: { name: string; run: Prediction | null | undefined }) {
  return (
    <figure>
      <div className="picture">{run && <Content name={name} run={run} />}</div>
      <figcaption>
        {name} <span>{run ? stateOf(run) : ""}</span>
      </figcaption>
    </figure>
  );
}

function Content({ name, run }: { name: string; run: Prediction }) {
  const { status, output, progress } = run;
  if (output && !output.contentType.startsWith("image/"))
    return <video src={output.url} aria-label={name} autoPlay muted loop controls />;
  if (output) return <img src={output.url} alt={name} />;
  if (status === "failed" || status === "canceled") return null;
  return <progress aria-label={`${name}: progress`} {...(progress === null ? {} : { value: progress })} />;
}

const stateOf = ({ status, queuePosition, error }: Prediction) => {
  if (error) return error.message;
  return queuePosition ? `number ${queuePosition} in the queue` : status;
};
