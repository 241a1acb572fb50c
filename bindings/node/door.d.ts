// Requests of docs/reference/door.md, from schemas/door.v1.json: bindings/node/test/run.sh

/**
 * One request: `call` says what is asked, the other keys are its arguments.
 */
export type Request =
  | {
      call: "open";
      /**
       * The name of a pack: of `packs`, of a shipped one, or of one in the folders of the door.
       */
      pack: string;
      /**
       * Packs that are given as files. They count before all others, and can extend each other.
       */
      packs?: PackContent[];
      /**
       * Rule files that are merged over the pack, in order.
       */
      overlays?: OverlayText[];
    }
  | {
      call: "put";
      /**
       * Its name, which messages show. A lorebook without a name is called by it.
       */
      name: string;
      /**
       * A text.
       */
      text?: string | null;
      /**
       * Bytes, such as those of a PNG card.
       */
      base64?: string | null;
      /**
       * A JSON document.
       */
      json?: unknown;
    }
  | {
      call: "close";
      /**
       * Handles of `open` and `put`.
       */
      handles: string[];
    }
  | {
      call: "build";
      rules: RulesReference;
      scene?: SceneRequest;
      /**
       * Whether the result has the plan: blocks, trim report, warnings.
       */
      plan?: boolean;
      /**
       * Whether the result has the trace of the build.
       */
      trace?: boolean;
    }
  | {
      call: "emit";
      rules: RulesReference;
      scene?: SceneRequest;
      /**
       * The dialects. Default: all of the pack.
       */
      dialects?: string[];
    }
  | {
      call: "explain";
      rules: RulesReference;
      scene?: SceneRequest;
      about?: Question;
    }
  | {
      call: "check";
      rules: RulesReference;
      /**
       * A scene, which is built; what the build warns of is reported too.
       */
      scene?: SceneRequest | null;
    }
  | {
      call: "test";
      /**
       * Packs that are given as files; the cases in their folder `cases` are run.
       */
      packs?: PackContent[];
      /**
       * Case files beside those.
       */
      cases?: OverlayText[];
      /**
       * Only cases whose title `file#name` contains this.
       */
      filter?: string;
    }
  | {
      call: "diff";
      a: RulesReference;
      b: RulesReference;
      /**
       * A scene that is built with both.
       */
      scene?: SceneRequest | null;
      /**
       * The scene of the second side, if it is another one.
       */
      scene_b?: SceneRequest | null;
    }
  | {
      call: "import";
      rules: RulesReference;
      file: PartReference;
      /**
       * The format, by name. Default: it is recognised by content.
       */
      format?: string | null;
    }
  | {
      call: "convert";
      /**
       * The rules that convert. For `pack`, those that read the preset; default: those of the pack that is recommended for it.
       */
      rules?: RulesReference | null;
      file: PartReference;
      /**
       * The format that is made, if the rules make several of such a file; or `pack`: a pack with the preset and its options.
       */
      to?: string | null;
      /**
       * The name of the pack that is made. Default: that of the file.
       */
      name?: string | null;
    }
  | {
      call: "doctor";
      /**
       * The rules that read it. Default: those of the pack that is recommended for such files.
       */
      rules?: RulesReference | null;
      file: PartReference;
      scene?: SceneRequest;
    }
  | {
      call: "options";
      rules: RulesReference;
      /**
       * Values that are set.
       */
      option?: {
        [k: string]: unknown;
      };
    }
  | {
      call: "schema";
      /**
       * A kind of rule file; `door` is the schema of this door.
       */
      kind?: string | null;
      /**
       * A version. Default: the newest.
       */
      version?: number | null;
      /**
       * Rules whose declarations are added.
       */
      rules?: RulesReference | null;
    }
  | {
      call: "packs";
    }
  | {
      call: "tokens";
      /**
       * The texts.
       */
      texts: string[];
      /**
       * How they are counted: `cl100k`, `o200k`, `claude`, `words`, `chars/4` … Default: `cl100k`.
       */
      tokenizer?: string | null;
    };
/**
 * Rules: a handle of `open`, the name of a pack, or a pack with overlays.
 */
export type RulesReference = string | OpenRequest;
/**
 * A file of a scene: a handle of `put`, or the file itself.
 */
export type PartReference = string | FileContent;
/**
 * What can be asked.
 */
export type Question =
  | "blocks"
  | "lore"
  | "changes"
  | "report"
  | {
      why: string;
    }
  | {
      why_not: string;
    }
  | {
      value: string;
    }
  | {
      cache: unknown;
    }
  | {
      rules: string;
    };

/**
 * A pack as files.
 */
export interface PackContent {
  /**
   * Its name.
   */
  name: string;
  /**
   * Texts by path inside of the pack, with `/`: `pack.toml`, `dialect/openai.toml`.
   */
  files: {
    [k: string]: string;
  };
}
/**
 * A rule file that is laid over a pack.
 */
export interface OverlayText {
  /**
   * The name that diagnostics show; its ending says whether the text is TOML or JSON.
   */
  name: string;
  /**
   * What it holds.
   */
  text: string;
}
/**
 * A pack with overlays.
 */
export interface OpenRequest {
  /**
   * The name of a pack: of `packs`, of a shipped one, or of one in the folders of the door.
   */
  pack: string;
  /**
   * Packs that are given as files. They count before all others, and can extend each other.
   */
  packs?: PackContent[];
  /**
   * Rule files that are merged over the pack, in order.
   */
  overlays?: OverlayText[];
}
/**
 * What a prompt is made of. The keys are those of a scene file.
 */
export interface SceneRequest {
  /**
   * The card of the character who writes.
   */
  character?: PartReference | null;
  /**
   * Presets, in order.
   */
  preset?: PartReference[];
  /**
   * The chat so far.
   */
  chat?: PartReference | null;
  /**
   * Lorebooks beside the card's own.
   */
  lorebooks?: PartReference[];
  /**
   * The user's name.
   */
  persona?: string | null;
  /**
   * The user's description of themselves: a text, or JSON of a known format.
   */
  persona_file?: PartReference | null;
  /**
   * The user's new message, which becomes the last of the chat.
   */
  message?: string | null;
  /**
   * The provider's dialect. Default: that of the pack.
   */
  dialect?: string | null;
  /**
   * The generation type: `normal`, `continue`, `impersonate`, `swipe`, `regenerate`, `quiet`.
   */
  type?: string | null;
  /**
   * The seed of random draws. Default: `0`.
   */
  seed?: string | null;
  /**
   * Scripted draws from 0 up to, but not including, 1, which are used up before the seed is.
   */
  draws?: number[] | null;
  /**
   * The time of the build, such as `2026-01-31T20:15:00Z`. A door without a clock has no other.
   */
  now?: string | null;
  /**
   * Whether warnings are errors.
   */
  strict?: boolean;
  /**
   * Values of the pack's options.
   */
  option?: {
    [k: string]: unknown;
  };
  /**
   * Values of the scene by path; they override those of all files.
   */
  scene?: {
    [k: string]: unknown;
  };
}
/**
 * A file with its content. One of `text`, `base64` and `json` is given.
 */
export interface FileContent {
  /**
   * Its name, which messages show. A lorebook without a name is called by it.
   */
  name: string;
  /**
   * A text.
   */
  text?: string | null;
  /**
   * Bytes, such as those of a PNG card.
   */
  base64?: string | null;
  /**
   * A JSON document.
   */
  json?: unknown;
}
