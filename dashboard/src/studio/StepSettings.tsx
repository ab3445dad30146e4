import { Button, Checkbox, Collapse, Group, NativeSelect, Stack, Text } from "@mantine/core";
import { useDisclosure, useId } from "@mantine/hooks";
import type { Element, Model, ProjectWithPredictions } from "../../../client/index.ts";
import { MentionTextarea } from "../projects/MentionTextarea.tsx";
import { type Cast, knownOf } from "../projects/mentions.ts";
import { textProblem } from "../projects/project-fields.tsx";
import { STEP_NAME } from "../steps/status-words.ts";
import { SmallButton } from "../ui/buttons.tsx";
import { IconAdjustmentsHorizontal } from "../ui/icons.tsx";
import { ControlField } from "./ControlField.tsx";
import { EarlierPictures } from "./EarlierPictures.tsx";
import { ImageField } from "./ImageField.tsx";
import {
  type FrameRole,
  type Given,
  forcedValues,
  makesWithoutFrame,
  maxReferences,
  modelOf,
  priceWords,
  settingsOf,
  settingWords,
  type StepOptions,
  takersOf,
  takesFirstFrame,
  takesLastFrame,
  chosenValue,
  usedImages,
  withoutElements,
} from "../steps/step-options.ts";

type Props = {
  options: StepOptions;
  onChange: (changed: Partial<StepOptions>) => void;
  models: Model[] | undefined;
  given: Given;
  project: ProjectWithPredictions;
  cast: Cast<Element>;
};

/** The settings of a step, made from what its model takes. Closed, one line says what is set. */
export function StepSettings({ options, onChange, models, given, project, cast }: Props) {
  const [isOpen, { toggle }] = useDisclosure(false);
  const id = useId();
  const model = modelOf(models, options);
  const label = options.prompt.trim() === "" ? "Settings" : "Settings, custom prompt";
  const words = model === undefined ? [] : settingWords(model, options, usedImages(model, options, given));
  return (
    <div>
      <Group gap="xs" wrap="nowrap">
        <Button
          variant="subtle"
          size="compact-sm"
          ml={-8}
          style={{ flexShrink: 0 }}
          aria-expanded={isOpen}
          aria-label={`${label}: ${STEP_NAME[given.step].toLowerCase()}`}
          aria-controls={id}
          leftSection={<IconAdjustmentsHorizontal size={16} />}
          onClick={toggle}
        >
          {label}
        </Button>
        <Text size="xs" c="dimmed" truncate title={words.join(" · ")}>
          {words.join(" · ")}
        </Text>
      </Group>
      <Collapse expanded={isOpen} id={id} keepMounted={false}>
        <Stack gap="sm" pt="xs">
          <MentionTextarea
            label="Prompt for this step"
            description="Leave empty to use the project's prompt."
            elements={options.elements === null ? knownOf(cast) : []}
            minRows={2}
            maxRows={8}
            value={options.prompt}
            error={textProblem(options.prompt, model?.promptMaxLength)}
            onChange={({ currentTarget: { value } }) =>
              onChange({ prompt: value, ...(value.trim() === "" && { elements: null }) })
            }
          />
          {options.elements != null && (options.elements.length > 0 || project.filmId !== null) && (
            <Group gap="xs">
              <Text size="xs">
                As in that take: {options.elements.map(({ name }) => name).join(", ") || "no elements"}.
              </Text>
              <SmallButton onClick={() => onChange(withoutElements(options))}>Use the cast as it is now</SmallButton>
            </Group>
          )}
          {models !== undefined && model !== undefined && (
            <>
              <NativeSelect
                label="Model"
                description={aboutModel(model)}
                data={models.map((one) => ({
                  value: one.model,
                  label: `${one.label} · ${priceWords(one)} · ${one.vendor}${one.isDefault ? " (default)" : ""}`,
                }))}
                value={model.model}
                onChange={({ currentTarget: { value } }) => {
                  const isDefault = models.some((one) => one.model === value && one.isDefault);
                  onChange({ model: isDefault ? null : value });
                }}
              />
              <ModelSettings {...{ options, onChange, models, model, given, project }} />
            </>
          )}
        </Stack>
      </Collapse>
    </div>
  );
}

type ModelSettingsProps = Omit<Props, "cast"> & { models: Model[]; model: Model };

function ModelSettings({ options, onChange, models, model, given, project }: ModelSettingsProps) {
  const { references, hasLastFrame } = given;
  const isVideo = given.step === "video";
  const withFirstFrame = takesFirstFrame(model, options);
  const withLastFrame = hasLastFrame && takesLastFrame(model, options);
  const isEither = model.controls.referenceImages?.excludes?.includes("firstFrame");
  const forced = forcedValues(model, options, usedImages(model, options, given));
  const most = maxReferences(model, options, given);
  const projectReference = project.referenceImagePath;
  const setReferences = (paths: string[]) => onChange({ references: paths });
  const ownFrame = (role: FrameRole) => {
    const name = STEP_NAME[role === "firstFrame" ? "first-frame" : "last-frame"];
    const frame = options[role];
    return (
      <ImageField
        project={project}
        label={name}
        noun={name.toLowerCase()}
        addLabel="Use an image"
        images={frame === null ? [] : [frame]}
        max={1}
        onChange={([image = null]) => onChange({ [role]: image })}
      />
    );
  };
  return (
    <>
      {settingsOf(model).map(([name, control]) => (
        <ControlField
          key={name}
          name={name}
          control={control}
          value={forced[name] ?? chosenValue(model, name, options.values)}
          isForced={name in forced}
          onChange={(value) => {
            const { [name]: _, ...others } = options.values;
            onChange({ values: value === undefined ? others : { ...others, [name]: value } });
          }}
        />
      ))}
      {isVideo && (project.filmId !== null || options.continues) && (
        <Checkbox
          label="Continue the previous shot"
          description="It starts on the last picture of the previous shot's video."
          checked={options.continues}
          onChange={({ currentTarget }) => onChange({ continues: currentTarget.checked })}
        />
      )}
      {isVideo && !options.continues && (
        <Checkbox
          label="Start at the first frame"
          description={
            !makesWithoutFrame(model)
              ? `${model.label} cannot make a video without it.`
              : isEither && `${model.label} accepts either frames or reference images.`
          }
          checked={withFirstFrame}
          disabled={!makesWithoutFrame(model) || model.controls.firstFrame === undefined}
          onChange={({ currentTarget }) => onChange({ usesFirstFrame: currentTarget.checked })}
        />
      )}
      {isVideo && withFirstFrame && (
        <Group align="flex-start">
          {!options.continues && ownFrame("firstFrame")}
          {(model.controls.lastFrame !== undefined || options.lastFrame !== null) && ownFrame("lastFrame")}
        </Group>
      )}
      {given.step === "last-frame" && options.firstFrame !== null && ownFrame("firstFrame")}
      {hasLastFrame && (withFirstFrame || withLastFrame) && (
        <Checkbox
          label="End at the last frame"
          description={
            model.controls.lastFrame === undefined ? `${model.label} does not support a last frame.` : undefined
          }
          checked={withLastFrame}
          disabled={model.controls.lastFrame === undefined}
          onChange={({ currentTarget }) => onChange({ usesLastFrame: currentTarget.checked })}
        />
      )}
      {most > 0 ? (
        <>
          <ImageField
            project={project}
            label="Reference images"
            noun="reference image"
            addLabel="Add image"
            images={references}
            max={most}
            onChange={setReferences}
          >
            {projectReference !== null && !references.includes(projectReference) && (
              <SmallButton onClick={() => setReferences([projectReference, ...references])}>
                Use the project's
              </SmallButton>
            )}
          </ImageField>
          <EarlierPictures project={project} images={references} max={most} onChange={setReferences} />
        </>
      ) : null}
      {references.length > most && (
        <Text size="xs">
          {model.label} takes {most === 0 ? "no reference images" : `only ${most} of these images`}
          {most === 0 && given.step !== "first-frame" && withFirstFrame ? " beside the first frame" : ""}. Models that
          take what is here:{" "}
          {takersOf(models, options, given)
            .map(({ label }) => label)
            .join(", ") || "none"}
          .
        </Text>
      )}
    </>
  );
}

function aboutModel({ notes = "", acceptsFaces, shutdownAt }: Model): string | undefined {
  const ends = shutdownAt === null ? "" : `Retires on ${new Date(shutdownAt).toLocaleDateString()}.`;
  const faces = acceptsFaces === "no" && !/faces/i.test(notes) ? "Does not accept images with people's faces." : "";
  return [notes, faces, ends].filter((one) => one !== "").join(" ") || undefined;
}
