import { Radio, Stack, TextInput } from "@mantine/core";
import { useState } from "react";
import { useNavigate } from "react-router";
import type { Project, Shot } from "../../../client/index.ts";
import { useCast } from "../queries/element-queries.ts";
import { useOnce } from "../services.ts";
import { useDraft } from "../session/use-draft.ts";
import { planOfNextShot } from "../steps/step-options.ts";
import { isPicture } from "../steps/TakePicture.tsx";
import { createShot } from "./create-shot.ts";
import { DescriptionField, PromptField, promptProblem, textProblem, titleProblem } from "./project-fields.tsx";
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

/** Creates a project. Without the library's forms, which no studio needs to load. */
export function NewProject({ isOpen, onClose, filmId, before, onCreated }: NewProjectProps) {
  const navigate = useNavigate();
  const cast = useCast({ filmId: (isOpen && filmId) || null, elementIds: null });
  const [texts, setTyped] = useDraft("new project", NO_TEXTS);
  const [isTried, setTried] = useState(false);
  const video = before?.takes.video ?? null;
  const hasEnd = video?.output != null && !isPicture(video.output.contentType);
  const [chosen, setStart] = useState<string | null>(null);
  const start = chosen ?? (hasEnd ? CONTINUES : OWN_FRAME);
  const lastFrame = before?.takes["last-frame"] ?? null;
  const ownBeginning = lastFrame && { firstFramePredictionId: lastFrame.predictionId };
  const beginning = start === CONTINUES ? "end" : ownBeginning;
  const create = useOnce(
    (keyframe, asked: Asked, once) => createShot(keyframe, asked, before, once),
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
        <Radio.Group label="Its video starts" value={start} onChange={setStart}>
          <Stack gap="xs" mt="xs">
            <Radio value={CONTINUES} label="Where the previous shot's video ends" />
            <Radio value={OWN_FRAME} label={lastFrame ? "At the previous shot's last frame" : "At a new first frame"} />
          </Stack>
        </Radio.Group>
      )}
    </FormWindow>
  );
}
