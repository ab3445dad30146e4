import { Alert, Group, Skeleton, Stack, Text } from "@mantine/core";
import { IconPhotoPlus, IconUpload } from "@tabler/icons-react";
import { type DragEvent, type ReactNode, type Ref, useEffect, useImperativeHandle, useRef, useState } from "react";
import type { Project } from "../../../client/index.ts";
import { errorSentence } from "../ui/errors.ts";
import { useChangeProject } from "../projects/project-queries.ts";
import { KINDS, refuseImage, useReferenceAddress, useUploadReference } from "./reference-image.ts";
import classes from "./reference.module.css";
import { SmallButton } from "../ui/buttons.tsx";

/** The project's reference image. */
export function ReferencePanel({ project: { projectId, referenceImagePath: path } }: { project: Project }) {
  const [refusal, setRefusal] = useState<string | null>(null);
  const upload = useUploadReference(projectId);
  const change = useChangeProject(projectId);
  const chooser = useRef<HTMLButtonElement>(null);
  const open = useRef<() => void>(null);
  const { variables: file, isPending } = upload;
  const error = upload.error ?? change.error;
  const problem = refusal ?? (error === null ? null : errorSentence(error));
  const remove = () => {
    change.mutate({ change: { referenceImagePath: null } });
    chooser.current?.focus(); // the button that was used is gone
  };
  const forgive = () => {
    setRefusal(null);
    upload.reset();
    change.reset();
  };
  const choice =
    isPending && file !== undefined ? <UploadedPicture file={file} /> : path && <ReferencePicture path={path} />;
  return (
    <Stack gap={6} component="section" aria-labelledby="reference">
      <Text size="sm" fw={600} id="reference">
        Reference image
      </Text>
      <ReferenceDropzone
        isBusy={isPending}
        openRef={open}
        onFile={(given) => {
          setRefusal(null);
          upload.mutate(given);
        }}
        onRefused={setRefusal}
      >
        {choice}
      </ReferenceDropzone>
      <Group gap="xs" mih={30} wrap="nowrap">
        {isPending && (
          <>
            <SmallButton style={{ flexShrink: 0 }} isOff={!upload.canStop} onClick={upload.stop}>
              Cancel upload
            </SmallButton>
            <UploadProgress fraction={upload.fraction} bytes={file?.size ?? 0} />
          </>
        )}
        {!isPending && (
          <SmallButton ref={chooser} onClick={() => open.current?.()}>
            {path === null ? "Choose image" : "Replace"}
          </SmallButton>
        )}
        {path !== null && !isPending && <SmallButton onClick={remove}>Remove</SmallButton>}
      </Group>
      {problem !== null && (
        <Alert color="red" role="alert" p="sm" withCloseButton closeButtonLabel="Close" onClose={forgive}>
          {problem}
        </Alert>
      )}
    </Stack>
  );
}

type DropzoneProps = {
  isBusy: boolean;
  openRef: Ref<() => void>;
  onFile: (file: Blob) => void;
  onRefused: (sentence: string) => void;
  /** The current image. */
  children: ReactNode;
};

/** Drop or click. Keyboard users use the button beside it, which opens through `openRef`. */
function ReferenceDropzone({ isBusy, openRef, onFile, onRefused, children }: DropzoneProps) {
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
      data-busy={isBusy || undefined}
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

/** Shows the local file while it uploads. */
function UploadedPicture({ file }: { file: Blob }) {
  const [address, setAddress] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(file);
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [file]);
  return address === undefined ? null : <img className={classes.picture} src={address} alt="Uploading" />;
}

/** A reference image from Storage. */
function ReferencePicture({ path }: { path: string }) {
  const { data: address, isPending } = useReferenceAddress(path);
  const [failed, setFailed] = useState<string>();
  if (isPending) return <Skeleton h="100%" radius={0} />;
  if (address == null || failed === address) {
    return (
      <Text size="sm" ta="center" p="md">
        Could not load the image. It may have been removed: choose another.
      </Text>
    );
  }
  return <img className={classes.picture} src={address} alt="Reference" onError={() => setFailed(address)} />;
}

/** At 100 % the service still checks and stores the image. */
function UploadProgress({ fraction, bytes }: { fraction: number; bytes: number }) {
  const percent = Math.floor(fraction * 100);
  return (
    <>
      <progress className={classes.progress} max={100} value={percent} aria-label="Upload progress" />
      <Text size="xs" c="dimmed" className={classes.percent}>
        {percent === 100 ? "Checking…" : `${percent} % of ${sizeWords(bytes)}`}
      </Text>
    </>
  );
}

const sizeWords = (bytes: number): string =>
  bytes < 1_000_000 ? `${Math.max(1, Math.round(bytes / 1000))} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
