import { hasEnded, mustSucceed, type Step, type StepBody } from "keyframe-client";
import { useKeyframe, useProject } from "keyframe-client/react";
import { type SubmitEvent, useEffect, useState } from "react";
import { sentenceOf, supabase } from "./services";
import { StepCard } from "./StepCard";

export function FilmPage({ email }: { email: string }) {
  const keyframe = useKeyframe();
  const [projectId, setProjectId] = useState<string>();
  const { data: project, error } = useProject(projectId);
  const [message, setMessage] = useState("");
  const [isMaking, setIsMaking] = useState(false);
  const runs = project?.predictions;
  const busy = isMaking || Object.values(runs ?? {}).some((run) => run && !hasEnded(run));

  // After a reload: the latest film.
  useEffect(() => {
    keyframe.projects.list({ limit: 1 }).then(
      ({ projects }) => setProjectId((known) => known ?? projects[0]?.projectId),
      (failure) => setMessage(sentenceOf(failure)),
    );
  }, [keyframe]);

  async function make<S extends Step>(step: S, body: StepBody[S]) {
    mustSucceed(await keyframe.waitFor(await keyframe.generate(step, body)));
  }

  async function submit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const [textPrompt, ending, image] = [String(form.get("prompt")), String(form.get("ending")), form.get("image")];
    setIsMaking(true);
    setMessage("");
    try {
      const { projectId } = await keyframe.projects.create({ title: "My film", textPrompt });
      setProjectId(projectId);
      const hasImage = image instanceof File && image.size > 0;
      const look = hasImage ? await keyframe.uploadReferenceImage(image) : {};
      await make("first-frame", { projectId, ...look });
      await make("last-frame", { projectId, ...look, ...(ending && { prompt: ending }) });
      await make("video", { projectId });
    } catch (error) {
      setMessage(sentenceOf(error));
    }
    setIsMaking(false);
  }

  return (
    <main>
      <header className="row">
        <h1>Make a film</h1>
        <button type="button" className="quiet" onClick={() => supabase.auth.signOut({ scope: "local" })}>
          Sign out {email}
        </button>
      </header>
      <section className="strip">
        <StepCard name="First frame" run={runs?.["first-frame"]} />
        <StepCard name="Film" run={runs?.video} />
        <StepCard name="Last frame" run={runs?.["last-frame"]} />
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
        <p role="status">{error?.message ?? message}</p>
      </form>
    </main>
  );
}
