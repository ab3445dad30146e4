import { mustSucceed, type Prediction, type Step, type StepBody } from "keyframe-client";
import { type SubmitEvent, useCallback, useEffect, useState } from "react";
import { keyframe, sentenceOf, supabase } from "./services";
import { StepCard } from "./StepCard";

type Runs = Partial<Record<Step, Prediction | null>>;

export function FilmPage({ email }: { email: string }) {
  const [runs, setRuns] = useState<Runs>({});
  const [message, setMessage] = useState("");
  const [busy, setBusy] = useState(false);

  const onProgress = useCallback((run: Prediction) => setRuns((known) => ({ ...known, [run.step]: run })), []);

  // After a reload: shows the latest film, and follows what still runs.
  useEffect(() => {
    const left = new AbortController();
    const { signal } = left;
    setBusy(true);
    const follow = async () => {
      const { projects } = await keyframe.listProjects({ limit: 1, include: "predictions" }, { signal });
      const latest: Runs = projects[0]?.predictions ?? {};
      setRuns(latest);
      await Promise.all(Object.values(latest).map((run) => run && keyframe.waitFor(run, { signal, onProgress })));
    };
    follow()
      .catch((error) => signal.aborted || setMessage(sentenceOf(error)))
      .finally(() => signal.aborted || setBusy(false));
    return () => left.abort();
  }, [onProgress]);

  async function make<S extends Step>(step: S, body: StepBody[S]) {
    mustSucceed(await keyframe.waitFor(await keyframe.generate(step, body), { onProgress }));
  }

  async function submit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const [textPrompt, ending, image] = [String(form.get("prompt")), String(form.get("ending")), form.get("image")];
    setBusy(true);
    setMessage("");
    setRuns({});
    try {
      const { projectId } = await keyframe.createProject({ title: "My film", textPrompt });
      const hasImage = image instanceof File && image.size > 0;
      const look = hasImage ? await keyframe.uploadReferenceImage(image) : {};
      await make("first-frame", { projectId, ...look });
      await make("last-frame", { projectId, ...look, ...(ending && { prompt: ending }) });
      await make("video", { projectId });
    } catch (error) {
      setMessage(sentenceOf(error));
    }
    setBusy(false);
  }

  return (
    <main>
      <header className="row">
        <h1>Make a film</h1>
        <button type="button" className="quiet" onClick={() => supabase.auth.signOut()}>
          Sign out {email}
        </button>
      </header>
      <section className="strip">
        <StepCard name="First frame" run={runs["first-frame"]} />
        <StepCard name="Film" run={runs.video} />
        <StepCard name="Last frame" run={runs["last-frame"]} />
      </section>
      <form onSubmit={submit}>
        <label>
          The scene{" "}
          <textarea name="prompt" required maxLength={4000} placeholder="A harbour at dawn, fog, one red boat" />
        </label>
        <label>
          How it ends <input name="ending" maxLength={4000} placeholder="The same harbour at night" />
        </label>
        <label>
          Reference image (optional) <input name="image" type="file" accept="image/png,image/jpeg,image/webp" />
        </label>
        <button type="submit" disabled={busy}>
          {busy ? "Working …" : "Make the film"}
        </button>
        <p role="status">{message}</p>
      </form>
    </main>
  );
}
