import { Radio, Stack, TextInput } from "@mantine/core";
import { useState } from "react";
import { useNavigate } from "react-router";
import type { KeyframeClient, Project, Shot } from "../../../client/index.ts";
import { useOnce } from "../services.ts";
import { useDraft } from "../session/use-draft.ts";
import { planOfNextShot } from "../steps/step-options.ts";
import { isPicture } from "../steps/TakePicture.tsx";
import { DescriptionField, PromptField, promptProblem, textProblem, titleProblem } from "./project-fields.tsx";
import { unless } from "../ui/errors.ts";
import { FormWindow } from "../ui/windows.tsx";

type NewProjectProps = {
  isOpen: boolean;
  onClose: () => void;
  /** The film whose shot it becomes. */
  filmId?: string | undefined;
  /** The shot that it follows, and whose ratio, reference image and settings it takes over. */
  before?: Shot | undefined;
};

type ProjectTexts = Pick<Project, "title" | "textPrompt" | "description">;

type Asked = ProjectTexts & Partial<Pick<Project, "aspectRatio" | "plan"> & { filmId: string }>;

const OWN_FRAME: string = "own frame";
const CONTINUES: string = "continues";

const NO_TEXTS: ProjectTexts = { title: "", textPrompt: "", description: "" };

/** Creates a project and opens its studio. Without the library's forms, which no studio needs to load. */
export function NewProject({ isOpen, onClose, filmId, before }: NewProjectProps) {
  const navigate = useNavigate();
  const [texts, setTyped] = useDraft("new project", NO_TEXTS);
  const [isTried, setTried] = useState(false);
  const video = before?.takes.video ?? null;
  const hasEnd = video?.output != null && !isPicture(video.output.contentType);
  const [chosen, setStart] = useState<string | null>(null);
  const start = chosen ?? (hasEnd ? CONTINUES : OWN_FRAME);
  const create = useOnce(
    async (keyframe, asked: Asked, once) => {
      const project = await keyframe.createProject(asked, once);
      const { referenceImagePath = null } = before ?? {};
      if (referenceImagePath !== null) await keyframe.changeProject(project.projectId, { referenceImagePath });
      if (filmId && before) await moveBehind(keyframe, filmId, project.projectId, before.projectId);
      return project;
    },
    (project) => {
      setTyped(() => NO_TEXTS);
      void navigate(`/projects/${project.projectId}`);
    },
  );
  const noun = filmId === undefined ? "project" : "shot";
  const problems = {
    title: titleProblem(texts.title),
    textPrompt: promptProblem(texts.textPrompt),
    description: textProblem(texts.description),
  };
  const field = (name: keyof ProjectTexts) => ({
    name,
    value: texts[name],
    error: (isTried || texts[name] !== "") && problems[name],
    onChange: (event: { currentTarget: { value: string } }) =>
      setTyped((all) => ({ ...all, [name]: event.currentTarget.value })),
  });
  const close = () => {
    setTried(false);
    onClose();
  };
  return (
    <FormWindow
      title={`New ${noun}`}
      size="lg"
      submit={`Create ${noun}`}
      failed={`Could not create the ${noun}`}
      isOpen={isOpen}
      onClose={close}
      onCancel={() => setTyped(() => NO_TEXTS)}
      saving={create}
      onSubmit={(form) => {
        setTried(true);
        const [refused] = Object.entries(problems).find(([, problem]) => problem !== null) ?? [];
        const ofShot = {
          ...(filmId && { filmId }),
          ...(before && { aspectRatio: before.aspectRatio, plan: planOfNextShot(before.plan, start === CONTINUES) }),
        };
        if (refused === undefined) create.mutate({ ...texts, ...ofShot });
        else form.querySelector<HTMLElement>(`[name=${refused}]`)?.focus();
      }}
    >
      <TextInput label="Title" data-autofocus maxLength={200} {...field("title")} />
      <PromptField minRows={4} maxRows={14} {...field("textPrompt")} />
      <DescriptionField {...field("description")} />
      {before && (
        <Radio.Group label="Its video begins" value={start} onChange={setStart}>
          <Stack gap="xs" mt="xs">
            <Radio value={CONTINUES} label="Where the video of the shot before ends" />
            <Radio
              value={OWN_FRAME}
              label={
                before.takes["last-frame"] ? "At the last frame of the shot before" : "At a first frame of its own"
              }
            />
          </Stack>
        </Radio.Group>
      )}
    </FormWindow>
  );
}

/** Puts the last shot of a film behind another one. When somebody else changes the film at this moment, it stays the last. */
async function moveBehind(keyframe: KeyframeClient, filmId: string, projectId: string, after: string): Promise<void> {
  const film = await keyframe.films.read(filmId);
  const others = film.projectIds.filter((id) => id !== projectId);
  const place = others.indexOf(after) + 1;
  if (place === 0 || place === others.length) return;
  await keyframe.films
    .change(filmId, { projectIds: others.toSpliced(place, 0, projectId) }, { unchangedSince: film })
    .catch(unless("precondition_failed"));
}
