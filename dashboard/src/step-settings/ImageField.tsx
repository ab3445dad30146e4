import { ActionIcon, FileButton, Group, Input, Text } from "@mantine/core";
import { type ReactNode, useRef, useState } from "react";
import { SmallButton } from "../ui/Buttons.tsx";
import { errorSentence } from "../ui/errors.ts";
import { IconPhotoPlus, IconX } from "../ui/Icons.tsx";
import { capitalized } from "../ui/words.ts";
import type { Known } from "../queries/use-predictions.ts";
import { KINDS, refuseImage, useAddReferences } from "../queries/reference-image.ts";
import { Frame } from "../takes/Sources.tsx";
import classes from "../takes/takes.module.css";

type Props = {
  project: Known;
  label: string;
  description?: string | false;
  /** What one image is called. */
  noun: string;
  addLabel: string;
  /** Paths of uploaded images, or ids of frames. */
  images: string[];
  max: number;
  /** The error of the change that `onChange` makes. */
  error?: unknown;
  onChange: (images: string[]) => void;
  children?: ReactNode;
};

/** A field for images that are chosen or dropped: references, or one frame. A single image is replaced. */
export function ImageField({ project, label, noun, addLabel, images, max, onChange, children, ...props }: Props) {
  const [refusal, setRefusal] = useState<string | null>(null);
  const button = useRef<HTMLButtonElement>(null);
  const isOne = max === 1;
  const add = useAddReferences((paths) => onChange(isOne ? paths : [...images, ...paths]));
  const error = add.error ?? props.error ?? null;
  const problem = refusal ?? (error === null ? null : errorSentence(error));
  const isFull = images.length >= max;
  const addFiles = (given: File[] | File | null) => {
    const files = [given ?? []].flat();
    const room = isOne ? 1 : max - images.length;
    if (files.length === 0 || room <= 0) return;
    const refused = files.flatMap((file) => refuseImage(file) ?? []);
    const reason = files.length > room ? `You can add ${room} more. Choose fewer images.` : (refused[0] ?? null);
    setRefusal(reason);
    if (reason === null) add.mutate(files);
  };
  const remove = (image: string) => {
    onChange(images.filter((one) => one !== image));
    button.current?.focus(); // the pressed button disappears
  };
  return (
    <Input.Wrapper
      label={label}
      labelElement="div"
      description={props.description}
      error={problem}
      onDragOver={(event) => event.preventDefault()} // without this the browser opens the file
      onDrop={(event) => {
        event.preventDefault();
        addFiles([...event.dataTransfer.files].slice(0, isOne ? 1 : undefined));
      }}
    >
      <Group gap="xs" mt={4}>
        {images.map((image, at) => {
          const name = isOne ? noun : `${noun} ${at + 1}`;
          return (
            <div key={image} className={classes.reference}>
              <Frame project={project} frame={image} alt={capitalized(name)} />
              <ActionIcon size={24} variant="default" aria-label={`Remove ${name}`} onClick={() => remove(image)}>
                <IconX size={14} />
              </ActionIcon>
            </div>
          );
        })}
        {(isOne || !isFull) && (
          <FileButton accept={KINDS.join()} multiple={!isOne} onChange={addFiles}>
            {(given) => (
              <SmallButton ref={button} {...given} isBusy={add.isPending} Icon={IconPhotoPlus}>
                {isOne && isFull ? "Replace" : addLabel}
              </SmallButton>
            )}
          </FileButton>
        )}
        {!isFull && children}
        {images.length > 1 && (
          <Text size="xs" c="dimmed">
            {images.length} of {max}
          </Text>
        )}
      </Group>
    </Input.Wrapper>
  );
}
