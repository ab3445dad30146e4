import { LoadingOverlay, Stack, Text } from "@mantine/core";
import { IconPhotoPlus, IconUpload } from "@tabler/icons-react";
import { type DragEvent, type ReactNode, type Ref, useImperativeHandle, useRef, useState } from "react";
import classes from "./reference.module.css";

/** The service checks the bytes itself. */
export const KINDS = ["image/png", "image/jpeg", "image/webp"];
const LIMIT_BYTES = 10 * 1024 * 1024;

type Props = {
  isBusy: boolean;
  openRef: Ref<() => void>;
  onFile: (file: Blob) => void;
  onRefused: (sentence: string) => void;
  /** The current image. */
  children: ReactNode;
};

/** Drop or click. Keyboard users use the button beside it, which opens through `openRef`. */
export function ReferenceDropzone({ isBusy, openRef, onFile, onRefused, children }: Props) {
  const input = useRef<HTMLInputElement>(null);
  const [isOver, setOver] = useState(false);
  const open = () => input.current?.click();
  useImperativeHandle(openRef, () => open);
  const take = (files: FileList | null) => {
    const [file, ...others] = files ?? [];
    if (file === undefined || isBusy) return;
    const reason = others.length > 0 ? "Choose one image." : refuseImage(file);
    if (reason === null) onFile(file);
    else onRefused(reason);
  };
  const over = (event: DragEvent) => {
    event.preventDefault(); // without this the browser opens the file
    setOver(event.type === "dragover");
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the button beside it does the same
    // biome-ignore lint/a11y/useKeyWithClickEvents: the button beside it does the same
    <div
      className={classes.zone}
      data-over={isOver || undefined}
      onClick={open}
      onDragOver={over}
      onDragLeave={over}
      onDrop={(event) => {
        over(event);
        take(event.dataTransfer.files);
      }}
    >
      <input
        ref={input}
        type="file"
        hidden
        accept={KINDS.join()}
        onClick={(event) => event.stopPropagation()}
        onChange={(event) => {
          take(event.currentTarget.files);
          event.currentTarget.value = ""; // the same file can be chosen again
        }}
      />
      <LoadingOverlay visible={isBusy} />
      {isOver ? (
        <Words Icon={IconUpload} text="Drop to upload" />
      ) : (
        (children ?? (
          <Words
            Icon={IconPhotoPlus}
            text="Drop or choose an image whose look frames follow"
            more="PNG, JPEG or WebP, up to 10 MiB"
          />
        ))
      )}
    </div>
  );
}

function Words({ Icon, text, more }: { Icon: typeof IconUpload; text: string; more?: string }) {
  return (
    <Stack gap={4} align="center" justify="center" h="100%" ta="center">
      <Icon size={32} stroke={1.2} aria-hidden />
      <Text size="sm">{text}</Text>
      {more !== undefined && (
        <Text size="xs" c="dimmed">
          {more}
        </Text>
      )}
    </Stack>
  );
}

/** Why an image cannot be uploaded; null when it can. */
export function refuseImage({ type, size }: File): string | null {
  if (!KINDS.includes(type)) return "Not a PNG, JPEG or WebP image.";
  return size > LIMIT_BYTES ? "The image is larger than 10 MiB. Choose a smaller one." : null;
}
