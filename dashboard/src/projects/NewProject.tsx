import { Radio, Stack, TextInput } from "@mantine/core";
import { useState } from "react";
import { useNavigate } from "react-router";
import type { Project, Shot } from "../../../client/index.ts";
import { useCast } from "../queries/element-queries.ts";
import { useOnce } from "../services.ts";
import { useDraft } from "../session/use-draft.ts";
import { planOfNextShot } from "../step-settings/step-options.ts";
import { isPicture } from "../takes/TakePicture.tsx";
import { createShot } from "./create-shot.ts";
import { DescriptionField, PromptField, promptProblem, titleProblem } from "../prompts/project-fields.tsx";
import { textProblem } from "../ui/errors.ts";
import { FormWindow } from "../ui/windows.tsx";

type NewProjectProps = {
  isOpen: boolean;
  onClose: () => void;
  /** The film whose shot it becomes. */
  filmId?: string | undefined;
  /** The shot that it follows, and whose ratio, reference image and settings it copies. */
  before?: Shot | undefined;
  /** By default its page is opened. */
  onCreated?: (project: Project) => void;
};

type ProjectTexts = Pick<Project, "title" | "textPrompt" | "description">;

type Asked = ProjectTexts & Partial<Pick<Project, "aspectRatio" | "plan"> & { filmId: string }>;

const OWN_FRAME: string = "own frame";
const CONTINUES: string = "continues";

const NO_TEXTS: ProjectTexts = { title: "", textPrompt: "", description: "" };

/** Creates a project. Without the library's forms, which only the sign-in loads. */
export function NewProject({ isOpen, onClose, filmId, before, onCreated }: NewProjectProps) {
  const navigate = useNavigate();
  const cast = useCast({ filmId: (isOpen && filmId) || null, elementIds: null });
  const [texts, setTyped] = useDraft("new project", NO_TEXTS);
  const [isTried, setTried] = useState(false);
  const video = before?.takes.video?.output;
  const [chosen, setStart] = useState<string | null>(null);
  const lastFrame = before?.takes["last-frame"] ?? null;
  const hasNoEnd = video ? isPicture(video.contentType) : lastFrame !== null; // that frame is there already
  const start = chosen ?? (hasNoEnd ? OWN_FRAME : CONTINUES);
  const ownBeginning = lastFrame && { firstFramePredictionId: lastFrame.predictionId };
  const beginning = start === CONTINUES ? { continuesPreviousShot: true } : ownBeginning;
  const create = useOnce(
    (keyframe, asked: Asked, once) => createShot(keyframe, asked, once, before),
    (project) => {
      setTyped(() => NO_TEXTS);
      if (onCreated) {
        close();
        onCreated(project);
      } else void navigate(`/projects/${project.projectId}`);
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
    setStart(null);
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
          ...(before && { aspectRatio: before.aspectRatio, plan: planOfNextShot(before.plan, beginning) }),
        };
        if (refused === undefined) create.mutate({ ...texts, ...ofShot });
        else form.querySelector<HTMLElement>(`[name=${refused}]`)?.focus();
      }}
    >
      <TextInput label="Title" data-autofocus maxLength={200} {...field("title")} />
      <PromptField minRows={4} maxRows={14} elements={cast.ofFilm} {...field("textPrompt")} />
      <DescriptionField {...field("description")} />
      {before && (
        <Radio.Group label="Start from" value={start} onChange={setStart}>
          <Stack gap="xs" mt="xs">
            <Radio value={CONTINUES} label="The end of the previous video" />
            <Radio value={OWN_FRAME} label={lastFrame ? "The previous shot's last frame" : "A new first frame"} />
          </Stack>
        </Radio.Group>
      )}
    </FormWindow>
  );
}
