// Plays what taut.show.scene describes: a scene, and curves whose cursor follows it.
// Names and labels reach the page as text only, never as markup.
"use strict";

const tautViews = [];

(() => {
  const {
    AmbientLight, BoxGeometry, BufferAttribute, BufferGeometry, Color, CylinderGeometry,
    DirectionalLight, DoubleSide, DynamicDrawUsage, InstancedMesh, LineMaterial, LineSegments2,
    LineSegmentsGeometry, Matrix4, Mesh, MeshStandardMaterial, OrbitControls, OrthographicCamera,
    PerspectiveCamera, Plot, Quaternion, Scene, SphereGeometry, Vector3, WebGLRenderer,
  } = vendor;

  const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"];
  const INK = "#222222", STEEL = "#8c97a3", PALE = "#e3e6ea", PAPER = "#ffffff";
  const VIRIDIS = ["#414487", "#2a788e", "#22a884", "#7ad151", "#e0cb1c"];
  const SEGMENTS = 6000;  // of a trail
  const COILS = 9;
  const MARGIN = 0.12;  // around what moves, of half the picture
  const TRAILS = { none: 0, short: 1.2, long: 8, all: Infinity };  // seconds of playing
  const DENSE = 0.4, BAND = "70";  // turns for each point across, and how a band is seen through
  const ZOOM = 2;  // what a press of + does to the time that curves show
  // Where a label may be: (right or left, below or above), the best first.
  const AROUND = [[1, -1], [1, 0], [1, 1], [-1, -1], [-1, 0], [-1, 1], [0, -1], [0, 1]];
  const NARROW = 480, FEW = 3;  // a picture, and names that have room in it
  const CLEAR = 0.25;  // how much is seen of what is clear
  const SPEEDS = [0.1, 0.2, 0.5, 1, 2, 5, 10];  // times the speed that the scene proposes

  // ---- data ------------------------------------------------------------------------------------

  const KINDS = { f4: Float32Array, f8: Float64Array, u1: Uint8Array, i2: Int16Array, i4: Int32Array };

  function unpack(array) {
    const text = atob(array.bytes), bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return { values: new KINDS[array.dtype](bytes.buffer), shape: array.shape };
  }

  // Where time is among the frames: the one before it, and the share of the way to the next.
  function moment(t, time) {
    let low = 0, high = t.length - 1;
    if (!(time > t[0])) return { frame: 0, share: 0 };
    if (time >= t[high]) return { frame: high, share: 0 };
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (t[middle] <= time) low = middle; else high = middle;
    }
    return { frame: low, share: (time - t[low]) / (t[high] - t[low]) };
  }

  // A function (k, at, out) that puts the place of thing k into a vector.
  function placesOf(packed) {
    const { values, shape } = unpack(packed);
    const still = shape[0] === 1, size = shape[2], row = size * shape[1];
    const space = size === 3;
    const place = (k, at, out) => {
      const a = still ? size * k : row * at.frame + size * k;
      out.set(values[a], values[a + 1], space ? values[a + 2] : 0);
      if (at.share > 0 && !still) {
        const b = a + row, w = at.share;
        out.x += w * (values[b] - out.x);
        out.y += w * (values[b + 1] - out.y);
        if (space) out.z += w * (values[b + 2] - out.z);
      }
      return out;
    };
    return { place, many: shape[1] };
  }

  function number(x) {
    if (!Number.isFinite(x)) return "–";
    if (x === 0) return "0";
    const size = Math.abs(x);
    if (size >= 1e5 || size < 1e-3) {
      return x.toExponential(2).replace(/\.?0+e/, "e").replace("e+", "e").replace(/-/g, "−");
    }
    return String(+x.toPrecision(5)).replace("-", "−");
  }

  function button(text, title, act) {
    const made = element("button", "", text);
    made.type = "button";
    made.title = title;
    made.setAttribute("aria-label", title);
    made.addEventListener("click", act);
    return made;
  }

  function element(tag, name, text) {
    const made = document.createElement(tag);
    if (name) made.className = name;
    if (text !== undefined) made.textContent = text;
    return made;
  }

  // ---- painters: one for each kind of item, (item, stage) → update(at) -------------------------

  function solid(colour, clear = false) {
    return new MeshStandardMaterial({ color: colour, roughness: 0.55, metalness: 0.05,
      transparent: clear, opacity: clear ? CLEAR : 1, depthWrite: !clear });
  }

  function line(positions, width, colour, stage) {
    const geometry = new LineSegmentsGeometry();
    geometry.setPositions(positions);
    const material = new LineMaterial({ linewidth: width, color: colour });
    const made = new LineSegments2(geometry, material);
    made.frustumCulled = false;
    stage.scene.add(made);
    return made;
  }

  const PAINTERS = {
    points(item, stage) {
      const source = placesOf(item.places), at3 = new Vector3(), matrix = new Matrix4();
      stage.sources.set(item.member, source);
      const trails = stage.trailsOf(item.member);
      const radius = stage.radius * (source.many > 40 ? Math.sqrt(40 / source.many) : 1);
      const groups = [true, false].map((moves) => {
        const chosen = item.moving.flatMap((m, k) => (m === moves ? [k] : []));
        if (!chosen.length) return null;
        const shape = moves ? new SphereGeometry(radius, 28, 20)
          : new BoxGeometry(1.5 * radius, 1.5 * radius, 1.5 * radius);
        const mesh = new InstancedMesh(shape, solid("#ffffff"), chosen.length);
        mesh.frustumCulled = false;
        chosen.forEach((k, slot) => {
          const trail = trails.indexOf(k);
          const colour = !moves ? STEEL : item.inks ? COLOURS[item.inks[k] % COLOURS.length]
            : item.member !== null ? COLOURS[item.member % COLOURS.length]
            : trail >= 0 ? COLOURS[trail % COLOURS.length] : INK;
          mesh.setColorAt(slot, new Color(colour));
        });
        stage.scene.add(mesh);
        return { mesh, chosen };
      });
      item.names.forEach((name, k) => stage.label(name, source, k));
      stage.tell(item);
      return (at) => groups.forEach((group) => {
        if (!group) return;
        group.chosen.forEach((k, slot) => {
          source.place(k, at, at3);
          group.mesh.setMatrixAt(slot, matrix.makeTranslation(at3));
        });
        group.mesh.instanceMatrix.needsUpdate = true;
      });
    },

    links(item, stage) {
      const source = item.places ? placesOf(item.places) : stage.sources.get(item.member);
      const a = new Vector3(), b = new Vector3();
      if (item.look === "rod") {
        const mesh = new InstancedMesh(
          new CylinderGeometry(1, 1, 1, 18), solid(STEEL), item.pairs.length);
        const radius = 0.3 * stage.radius * (item.pairs.length > 40 ? 0.6 : 1);
        const axis = new Vector3(0, 1, 0), along = new Vector3();
        const turn = new Quaternion(), size = new Vector3(), matrix = new Matrix4();
        mesh.frustumCulled = false;
        stage.scene.add(mesh);
        return (at) => {
          item.pairs.forEach(([i, j], slot) => {
            source.place(i, at, a);
            source.place(j, at, b);
            along.subVectors(b, a);
            const length = along.length();
            turn.setFromUnitVectors(axis, along.divideScalar(length || 1));
            matrix.compose(a.add(b).multiplyScalar(0.5), turn, size.set(radius, length, radius));
            mesh.setMatrixAt(slot, matrix);
          });
          mesh.instanceMatrix.needsUpdate = true;
        };
      }
      const steps = item.look === "spring" ? 16 * COILS : 1;
      const positions = new Float32Array(6 * steps * item.pairs.length);
      const drawn = line(positions, item.look === "spring" ? 2 : 1.6, STEEL, stage);
      const radius = 0.9 * stage.radius;
      const u = new Vector3(), v = new Vector3(), along = new Vector3(), p = new Vector3();
      return (at) => {
        const buffer = drawn.geometry.attributes.instanceStart.data;
        let slot = 0;
        for (const [i, j] of item.pairs) {
          source.place(i, at, a);
          source.place(j, at, b);
          along.subVectors(b, a);
          u.crossVectors(along, stage.normal);
          if (u.lengthSq() < 1e-12 * along.lengthSq()) u.crossVectors(along, stage.up);
          u.normalize();
          v.crossVectors(along, u).normalize();
          for (let k = 0; k < steps; k++) {
            for (const s of [k / steps, (k + 1) / steps]) {
              const inner = Math.min(Math.max((s - 0.08) / 0.84, 0), 1);
              const swell = steps > 1 && inner > 0 && inner < 1 ? radius : 0;
              const angle = 2 * Math.PI * COILS * inner;
              p.copy(a).addScaledVector(along, s)
                .addScaledVector(u, swell * Math.sin(angle))
                .addScaledVector(v, swell * (1 - Math.cos(angle)) * 0.5);
              buffer.array[slot++] = p.x;
              buffer.array[slot++] = p.y;
              buffer.array[slot++] = p.z;
            }
          }
        }
        buffer.needsUpdate = true;
      };
    },

    trails(item, stage) {
      const source = item.places ? placesOf(item.places) : stage.sources.get(item.member);
      const paper = new Color(PAPER), colour = new Color();
      const head = new Vector3(), p = new Vector3();
      const drawn = item.points.map((k, number) => {
        const made = line(new Float32Array(6 * SEGMENTS), 2.2, PAPER, stage);
        made.material.vertexColors = true;
        made.geometry.setColors(new Float32Array(6 * SEGMENTS));
        made.geometry.instanceCount = 0;
        made.renderOrder = -1;  // under all that is solid: a trail fades into the paper
        made.material.depthTest = made.material.depthWrite = false;
        const own = item.inks ? item.inks[number] : item.member !== null ? item.member : number;
        return { k, made, ink: new Color(COLOURS[own % COLOURS.length]) };
      });
      return (at) => {
        const first = stage.frameAt(stage.time - stage.trail * stage.speed);
        const stride = Math.max(1, Math.ceil((at.frame - first) / (SEGMENTS - 2)));
        const nodes = [];
        for (let f = Math.floor(at.frame / stride) * stride; f > first; f -= stride) nodes.push(f);
        nodes.push(first);
        for (const { k, made, ink } of drawn) {
          const buffer = made.geometry.attributes.instanceStart.data.array;
          const shades = made.geometry.attributes.instanceColorStart.data.array;
          // From old to new, so that where a path crosses itself the new part is seen.
          const many = nodes.length, old = stage.trail === Infinity ? 0.35 : 1;
          source.place(k, at, head);
          nodes.forEach((frame, age) => {
            const slot = 6 * (many - 1 - age);
            source.place(k, { frame, share: 0 }, p);
            buffer.set([head.x, head.y, head.z, p.x, p.y, p.z], slot);
            head.copy(p);
            colour.copy(ink).lerp(paper, (old * age) / many).toArray(shades, slot);
            colour.copy(ink).lerp(paper, (old * (age + 1)) / many).toArray(shades, slot + 3);
          });
          made.geometry.instanceCount = stage.trail > 0 ? nodes.length : 0;
          made.geometry.attributes.instanceStart.data.needsUpdate = true;
          made.geometry.attributes.instanceColorStart.data.needsUpdate = true;
        }
      };
    },

    bodies(item, stage) {
      const source = placesOf(item.places), many = source.many;
      const { values: turns, shape: extent } = unpack(item.turns);
      const still = extent[0] === 1, count = item.looks.length;
      const shapes = {
        box: () => new BoxGeometry(1, 1, 1),
        cylinder: () => new CylinderGeometry(0.5, 0.5, 1, 28).rotateX(Math.PI / 2),
        ball: () => new SphereGeometry(0.5, 28, 20),
      };
      // What a shape says of itself, or its body, or the ground says of it.
      const colour = (k) => {
        const ink = item.inks[item.owners[k]];
        return (item.colours && item.colours[k])
          || (ink === null ? STEEL : COLOURS[ink % COLOURS.length]);
      };
      const vertices = item.meshes && unpack(item.vertices).values;
      const faces = item.meshes && unpack(item.faces).values;
      const triangles = (k) => {
        const [first, last, begin, end] = item.meshes[k];
        const geometry = new BufferGeometry();
        geometry.setAttribute(
          "position", new BufferAttribute(vertices.slice(3 * first, 3 * last), 3));
        geometry.setIndex(new BufferAttribute(new Uint32Array(faces.slice(3 * begin, 3 * end)), 1));
        const material = solid(colour(k));
        material.flatShading = true;
        material.side = DoubleSide;
        const mesh = new Mesh(geometry, material);
        mesh.frustumCulled = false;
        mesh.matrixAutoUpdate = false;
        stage.scene.add(mesh);
        return { chosen: [k], put: (slot, m) => mesh.matrix.copy(m), done: () => {} };
      };
      const isClear = (k) => Boolean(item.clear && item.clear[k]);
      const kinds = Object.keys(shapes).flatMap((look) => [[look, false], [look, true]]);
      const groups = kinds.flatMap(([look, clear]) => {
        const chosen = item.looks.flatMap((x, k) => (x === look && isClear(k) === clear ? [k] : []));
        if (!chosen.length) return [];
        const mesh = new InstancedMesh(shapes[look](), solid("#ffffff", clear), chosen.length);
        mesh.frustumCulled = false;
        chosen.forEach((k, slot) => mesh.setColorAt(slot, new Color(colour(k))));
        stage.scene.add(mesh);
        return [{ chosen, put: (slot, m) => mesh.setMatrixAt(slot, m),
          done: () => { mesh.instanceMatrix.needsUpdate = true; } }];
      });
      for (let k = 0; k < count; k++) if (item.looks[k] === "mesh") groups.push(triangles(k));
      item.names.forEach((name, k) => { if (name) stage.label(name, source, k); });
      stage.tell(item);
      const at3 = new Vector3(), size = new Vector3(), matrix = new Matrix4();
      const turn = new Quaternion(), next = new Quaternion();
      const offset = new Vector3(), spin = new Quaternion();
      const quaternion = (frame, k, out) => {
        const a = 4 * ((still ? 0 : frame) * many + k);  // w first
        return out.set(turns[a + 1], turns[a + 2], turns[a + 3], turns[a]).normalize();
      };
      return (at) => groups.forEach(({ chosen, put, done }) => {
        chosen.forEach((k, slot) => {
          const owner = item.owners[k];
          source.place(owner, at, at3);
          quaternion(at.frame, owner, turn);
          if (at.share > 0 && !still) {
            turn.slerp(quaternion(at.frame + 1, owner, next), at.share);
          }
          if (item.offsets) {
            at3.add(offset.set(...item.offsets[k]).applyQuaternion(turn));
            const [w, x, y, z] = item.spins[k];
            turn.multiply(spin.set(x, y, z, w));
          }
          put(slot, matrix.compose(at3, turn, size.set(...item.sizes[k])));
        });
        done();
      });
    },

    // Joints: small balls, cubes where they hold on to the ground; seen through what hides them.
    marks(item, stage) {
      const source = placesOf(item.places), at3 = new Vector3(), matrix = new Matrix4();
      const radius = 0.5 * stage.radius * (source.many > 40 ? Math.sqrt(40 / source.many) : 1);
      const groups = [false, true].flatMap((grounded) => {
        const chosen = item.grounded.flatMap((x, k) => (x === grounded ? [k] : []));
        if (!chosen.length) return [];
        const shape = grounded ? new BoxGeometry(2.4 * radius, 2.4 * radius, 2.4 * radius)
          : new SphereGeometry(radius, 20, 14);
        const ink = solid(grounded ? STEEL : INK);
        ink.depthTest = false;
        const mesh = new InstancedMesh(shape, ink, chosen.length);
        mesh.frustumCulled = false;
        mesh.renderOrder = 1;
        stage.scene.add(mesh);
        return [{ mesh, chosen }];
      });
      return (at) => groups.forEach(({ mesh, chosen }) => {
        chosen.forEach((k, slot) => {
          mesh.setMatrixAt(slot, matrix.makeTranslation(source.place(k, at, at3)));
        });
        mesh.instanceMatrix.needsUpdate = true;
      });
    },

    curve(item, stage) {
      const source = placesOf(item.places), positions = [], p = new Vector3();
      for (let k = 0; k + 1 < source.many; k++) {
        const both = [k, k + 1].flatMap((end) => source.place(end, { frame: 0, share: 0 }, p).toArray());
        if (both.every(Number.isFinite)) positions.push(...both);
      }
      line(positions, 1.6, "#c3c9d0", stage);
      if (item.name) stage.label(item.name, source, 0);
      return () => {};
    },

    strand(item, stage) {
      const source = placesOf(item.places), p = new Vector3();
      const drawn = line(
        new Float32Array(6 * (source.many - 1)), 2.2, COLOURS[item.colour % COLOURS.length], stage);
      return (at) => {
        const buffer = drawn.geometry.attributes.instanceStart.data;
        for (let k = 0; k < source.many; k++) {
          source.place(k, at, p);
          if (k > 0) buffer.array.set([p.x, p.y, p.z], 6 * k - 3);
          if (k + 1 < source.many) buffer.array.set([p.x, p.y, p.z], 6 * k);
        }
        buffer.needsUpdate = true;
      };
    },

    beam(item, stage) {
      const source = placesOf(item.places), turns = unpack(item.turns).values;
      const shade = unpack(item.shade).values, nodes = source.many;
      const corners = item.outline[0].length, sides = 2 * corners;
      const outline = (j) => item.outline[item.outline.length === 1 ? 0 : j];
      const body = nodes * sides, all = body + 2 * corners;
      const geometry = new BufferGeometry();
      for (const name of ["position", "normal", "color"]) {
        const attribute = new BufferAttribute(new Float32Array(3 * all), 3);
        geometry.setAttribute(name, attribute.setUsage(DynamicDrawUsage));
      }
      const faces = [];
      for (let j = 0; j + 1 < nodes; j++) {
        for (let k = 0; k < corners; k++) {
          const a = j * sides + 2 * k, b = a + 1, c = a + sides, d = b + sides;
          faces.push(a, b, d, a, d, c);
        }
      }
      for (const first of [body, body + corners]) {
        for (let k = 1; k + 1 < corners; k++) faces.push(first, first + k, first + k + 1);
      }
      geometry.setIndex(faces);
      const material = new MeshStandardMaterial(
        { vertexColors: true, roughness: 0.6, metalness: 0.05, side: DoubleSide });
      const mesh = new Mesh(geometry, material);
      mesh.frustumCulled = false;
      stage.scene.add(mesh);
      if (item.top > 0) stage.bar(item.top);
      const palette = VIRIDIS.map((c) => new Color(c)), plain = new Color(COLOURS[0]);
      const colourOf = (value, out) => {
        if (!(item.top > 0)) return out.copy(plain);
        const x = (value / 255) * (palette.length - 1), k = Math.min(Math.floor(x), palette.length - 2);
        return out.copy(palette[k]).lerp(palette[k + 1], x - k);
      };
      const centre = new Vector3(), turn = new Quaternion(), next = new Quaternion();
      const p = new Vector3(), n = new Vector3(), colour = new Color();
      const quaternion = (frame, j, out) => {
        const a = 4 * (frame * nodes + j);  // w first
        return out.set(turns[a + 1], turns[a + 2], turns[a + 3], turns[a]).normalize();
      };
      // Round sections are shaded as round, others side by side.
      const round = corners > 8;
      return (at) => {
        const { position, normal, color } = geometry.attributes;
        for (let j = 0; j < nodes; j++) {
          source.place(j, at, centre);
          quaternion(at.frame, j, turn);
          if (at.share > 0) turn.slerp(quaternion(at.frame + 1, j, next), at.share);
          colourOf(shade[at.frame * nodes + j], colour);
          const around = outline(j);
          const put = (slot, corner, nx, ny, nz) => {
            p.set(corner[0], 0, corner[1]).applyQuaternion(turn).add(centre);
            n.set(nx, ny, nz).applyQuaternion(turn);
            position.setXYZ(slot, p.x, p.y, p.z);
            normal.setXYZ(slot, n.x, n.y, n.z);
            color.setXYZ(slot, colour.r, colour.g, colour.b);
          };
          for (let k = 0; k < corners; k++) {
            const a = around[k], b = around[(k + 1) % corners];
            const nx = a[0] + b[0], nz = a[1] + b[1], size = Math.hypot(nx, nz) || 1;
            const slot = j * sides + 2 * k;
            if (round) {
              const ra = Math.hypot(...a) || 1, rb = Math.hypot(...b) || 1;
              put(slot, a, a[0] / ra, 0, a[1] / ra);
              put(slot + 1, b, b[0] / rb, 0, b[1] / rb);
            } else {
              put(slot, a, nx / size, 0, nz / size);
              put(slot + 1, b, nx / size, 0, nz / size);
            }
          }
          if (j === 0 || j === nodes - 1) {
            const first = j === 0 ? body : body + corners;
            around.forEach((corner, k) => put(first + k, corner, 0, j === 0 ? -1 : 1, 0));
          }
        }
        for (const attribute of [position, normal, color]) attribute.needsUpdate = true;
      };
    },
  };

  // ---- the stage -------------------------------------------------------------------------------

  class Stage {
    constructor(holder, data, redraw) {
      this.holder = holder;
      this.t = unpack(data.t).values;
      this.box = data.box.map((corner) => new Vector3(...corner));
      this.size = this.box[0].distanceTo(this.box[1]) || 1;
      this.radius = 0.016 * this.size;
      this.up = new Vector3(...data.up).normalize();
      this.planar = data.axes.length === 2;
      this.axes = data.axes;
      this.items = data.items;
      this.sources = new Map();
      this.labels = [];
      this.trail = data.trail === null ? Infinity : data.trail;
      this.speed = data.speed;
      this.time = this.t[0];
      this.scene = new Scene();
      this.scene.background = new Color(PAPER);
      this.canvas = element("canvas");
      this.canvas.tabIndex = 0;
      this.canvas.setAttribute("aria-label", "animation of the run");
      holder.append(this.canvas);
      this.overlay = element("div", "overlay");
      holder.append(this.overlay);
      this.renderer = new WebGLRenderer({ canvas: this.canvas, antialias: true });
      this.renderer.setPixelRatio(Math.min(window.devicePixelRatio || 1, 2));
      this.scene.add(new AmbientLight("#ffffff", 1.7));
      this.light = new DirectionalLight("#ffffff", 2.2);
      this.scene.add(this.light, this.light.target);
      this.aim();
      this.grid();
      this.painters = data.items.map((item) => PAINTERS[item.kind](item, this));
      this.controls = new OrbitControls(this.camera, this.canvas);
      this.controls.addEventListener("change", redraw);
      this.controls.addEventListener("start", () => { this.turned = true; });
      if (this.planar) {
        this.controls.enableRotate = false;
        this.controls.mouseButtons.LEFT = 2;
        this.controls.touches.ONE = 1;
      }
      // A page that is scrolled past must not zoom: the wheel works after a click.
      this.controls.enableZoom = false;
      this.canvas.addEventListener("pointerdown", () => { this.controls.enableZoom = true; });
      holder.addEventListener("pointerleave", () => { this.controls.enableZoom = false; });
      this.home();
    }

    trailsOf(member) {
      const found = this.items.find((x) => x.kind === "trails" && x.member === member);
      return found ? found.points : [];
    }

    frameAt(time) {
      return moment(this.t, time).frame;
    }

    // The horizontal directions, and the camera with its way of looking.
    aim() {
      const x = new Vector3(1, 0, 0), y = new Vector3(0, 1, 0);
      this.right = Math.abs(this.up.dot(x)) > 0.9 ? y : x;
      this.right.addScaledVector(this.up, -this.up.dot(this.right)).normalize();
      this.normal = new Vector3().crossVectors(this.right, this.up);
      this.centre = new Vector3().addVectors(...this.box).multiplyScalar(0.5);
      const extent = (d) => { const [a, b] = this.reach(d); return b - a; };
      this.view = new Vector3();
      if (this.planar) {
        this.camera = new OrthographicCamera(-1, 1, 1, -1, 0.01 * this.size, 20 * this.size);
        this.view.copy(this.normal);
      } else {
        this.camera = new PerspectiveCamera(32, 1, 0.005 * this.size, 60 * this.size);
        const flat = 0.02 * this.size;
        const a = extent(this.normal) < flat ? [0.28, 1, 0.2]
          : extent(this.right) < flat ? [1, 0.28, 0.2] : [0.55, 0.9, 0.38];
        this.view.addScaledVector(this.right, a[0]).addScaledVector(this.normal, a[1])
          .addScaledVector(this.up, a[2]).normalize();
      }
      this.camera.up.copy(this.up);
    }

    // The lowest and the highest place of the box along a direction, which need not be an axis.
    reach(d) {
      const [low, high] = this.box, ends = [0, 0];
      for (const k of ["x", "y", "z"]) {
        const sides = [low[k] * d[k], high[k] * d[k]];
        ends[0] += Math.min(...sides);
        ends[1] += Math.max(...sides);
      }
      return ends;
    }

    // Far enough away that every corner of the box is in the picture, and no farther.
    home() {
      this.controls.target.copy(this.centre);
      const far = this.planar ? 4 * this.size : this.fitted();
      this.camera.position.copy(this.controls.target).addScaledVector(this.view, far);
      this.camera.zoom = 1;
      this.camera.updateProjectionMatrix();
      this.controls.update();
      this.turned = false;
    }

    // A place p is seen if |p·r − x| ≤ a (d − p·v), where v looks back at a camera at distance d, r
    // is across, and a the slope of the picture's edge: so 2ad = max(p·r + a p·v) + max(−p·r + a p·v).
    fitted() {
      const slope = Math.tan((this.camera.fov * Math.PI) / 360) / (1 + MARGIN);
      const across = new Vector3().crossVectors(this.up, this.view).normalize();
      const upward = new Vector3().crossVectors(this.view, across);
      const room = 2 * this.radius;
      const side = (d, a) => room + this.reach(d.clone().addScaledVector(this.view, a))[1];
      let far = 0;
      for (const [d, a] of [[across, slope * this.camera.aspect], [upward, slope]]) {
        const high = side(d, a), low = side(d.clone().negate(), a);
        this.controls.target.addScaledVector(d, (high - low) / 2 - this.centre.dot(d));
        far = Math.max(far, (high + low) / (2 * a) - this.centre.dot(this.view));
      }
      return far;
    }

    resize() {
      const width = this.holder.clientWidth, height = this.holder.clientHeight;
      if (!width || !height) return;
      this.renderer.setSize(width, height, false);
      this.width = width;
      this.height = height;
      if (this.planar) {
        const [low, high] = this.box;
        const wide = Math.abs(new Vector3().subVectors(high, low).dot(this.right)) || 0.4 * this.size;
        const tall = Math.abs(new Vector3().subVectors(high, low).dot(this.up)) || 0.4 * this.size;
        const half = 0.5 * Math.max(tall + 6 * this.radius, ((wide + 6 * this.radius) * height) / width) * 1.08;
        Object.assign(this.camera, {
          left: (-half * width) / height, right: (half * width) / height, top: half, bottom: -half });
      } else {
        this.camera.aspect = width / height;
        if (!this.turned) this.home();
      }
      this.camera.updateProjectionMatrix();
    }

    // Lines a round distance apart: in the plane of a planar scene, on the ground otherwise.
    grid() {
      const power = 10 ** Math.floor(Math.log10(this.size / 4));
      const step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= this.size / 8);
      const [low, high] = this.box, across = this.planar ? this.up : this.normal;
      const reach = (d) => this.reach(d);
      const ground = this.planar ? 0 : reach(this.up)[0] - this.radius;
      const margin = this.planar ? 12 : 1;
      const span = (d) => {
        const [a, b] = reach(d);
        return [Math.floor(a / step) - margin, Math.ceil(b / step) + margin];
      };
      const positions = [], p = new Vector3();
      const put = (i, j) => {
        p.set(0, 0, 0).addScaledVector(this.right, i * step).addScaledVector(across, j * step);
        if (this.planar) p.addScaledVector(this.normal, -2 * this.size);
        else p.addScaledVector(this.up, ground);
        positions.push(p.x, p.y, p.z);
      };
      const [a, b] = span(this.right), [c, d] = span(across);
      for (let i = a; i <= b; i++) { put(i, c); put(i, d); }
      for (let j = c; j <= d; j++) { put(a, j); put(b, j); }
      line(positions, 1, PALE, this).renderOrder = -2;
      this.overlay.append(element("div", "scale", `grid ${number(step)}`));
      this.triad = element("canvas", "triad");
      this.overlay.append(this.triad);
    }

    label(name, source, k) {
      const made = element("span", "label", name);
      this.overlay.append(made);
      this.labels.push({ made, source, k, way: 0 });
    }

    // What colours stand for: seen where parts share one, or where names have no room at the parts.
    tell(item) {
      if (!item.legend || !item.legend.length) return;
      const made = element("div", "legend");
      for (const [text, ink] of item.legend) {
        const row = element("div", "entry"), spot = element("span", "spot");
        spot.style.background = COLOURS[ink % COLOURS.length];
        row.append(spot, text);
        made.append(row);
      }
      this.overlay.append(made);
      this.legend = { made, always: !item.named && item.legend.length > 1 };
    }

    // Each beside its place, where it is in the picture and on no other one; where it was if it can.
    placeLabels(at) {
      const p = new Vector3();
      const crowded = this.width < NARROW && this.labels.length > FEW && Boolean(this.legend);
      if (this.legend) this.legend.made.hidden = !(this.legend.always || crowded);
      const taken = [...this.overlay.children].filter((x) => x.className !== "label").map((x) => {
        const [left, top] = [x.offsetLeft, x.offsetTop];
        return [left, top, left + x.offsetWidth, top + x.offsetHeight];
      });
      const free = ([a, b, c, d]) => a >= 0 && b >= 0 && c <= this.width && d <= this.height
        && taken.every(([e, f, g, h]) => a >= g || c <= e || b >= h || d <= f);
      for (const label of this.labels) {
        const { made, source, k } = label;
        if (crowded) {
          made.style.visibility = "hidden";
          continue;
        }
        if (!label.wide) Object.assign(label, { wide: made.offsetWidth, tall: made.offsetHeight });
        const { wide, tall } = label;
        source.place(k, at, p).project(this.camera);
        const x = ((p.x + 1) / 2) * this.width, y = ((1 - p.y) / 2) * this.height;
        const room = (way) => {
          const [across, down] = AROUND[way];
          const left = x + (across > 0 ? 9 : across < 0 ? -9 - wide : -wide / 2);
          const top = y + (down > 0 ? 4 : down < 0 ? -3 - tall : -tall / 2);
          return [left, top, left + wide, top + tall];
        };
        const way = [label.way, ...AROUND.keys()].find((n) => free(room(n)));
        made.style.visibility = way === undefined ? "hidden" : "visible";
        if (way === undefined) continue;
        label.way = way;
        const found = room(way);
        taken.push(found);
        made.style.transform = `translate(${found[0]}px, ${found[1]}px)`;
      }
    }

    bar(top) {
      if (this.overlay.querySelector(".colours")) return;
      const made = element("div", "colours");
      const strip = element("span", "strip");
      strip.style.background = `linear-gradient(90deg, ${VIRIDIS.join(", ")})`;
      made.append("bending 0 ", strip, ` ${number(top)}`);
      this.overlay.append(made);
    }

    draw(time) {
      this.time = time;
      const at = moment(this.t, time);
      for (const paint of this.painters) paint(at);
      this.light.position.copy(this.camera.position)
        .addScaledVector(this.up, 0.7 * this.size).addScaledVector(this.right, 0.5 * this.size);
      this.light.target.position.copy(this.controls.target);
      this.renderer.render(this.scene, this.camera);
      this.placeLabels(at);
      this.drawTriad();
    }

    // The directions of space, as they are seen now.
    drawTriad() {
      const side = 64, ratio = window.devicePixelRatio || 1;
      this.triad.width = this.triad.height = side * ratio;
      const pen = this.triad.getContext("2d");
      pen.scale(ratio, ratio);
      pen.font = "11px system-ui, sans-serif";
      pen.textAlign = "center";
      pen.textBaseline = "middle";
      const back = this.camera.quaternion.clone().invert();
      this.axes.forEach((name, k) => {
        const d = new Vector3().setComponent(k, 1).applyQuaternion(back);
        const x = side / 2 + 20 * d.x, y = side / 2 - 20 * d.y;
        pen.strokeStyle = pen.fillStyle = "#5c6670";
        pen.beginPath();
        pen.moveTo(side / 2, side / 2);
        pen.lineTo(x, y);
        pen.stroke();
        pen.fillText(name, side / 2 + 27 * d.x, side / 2 - 27 * d.y);
      });
    }
  }

  // ---- curves ----------------------------------------------------------------------------------

  class Curves {
    constructor(holder, panel, view) {
      this.holder = element("div", "panel");
      this.heading = element("div", "heading");
      this.view = view;
      this.note = element("span", "note");
      this.title = element("b", "", panel.title);
      this.heading.append(this.title, this.note);
      this.holder.append(this.heading);
      holder.append(this.holder);
      this.choices = panel.choices || [];
      if (this.choices.length) this.choosing();
      this.draw(this.choices[0] || panel);
    }

    // A list of names after the title; choosers that know the name follow.
    choosing() {
      const made = element("select");
      made.setAttribute("aria-label", this.title.textContent);
      for (const { choice } of this.choices) {
        const option = element("option", "", choice);
        option.value = choice;
        made.append(option);
      }
      made.addEventListener("change", () => this.view.choose(made.value));
      this.select = made;
      this.title.append(" ", made);
    }

    choose(name) {
      const found = this.choices.find((panel) => panel.choice === name);
      if (!found) return;
      this.select.value = name;
      this.plot.destroy();
      this.draw(found);
      this.show(...this.view.window);
    }

    draw(panel) {
      const view = this.view;
      this.note.textContent = panel.note;
      this.t = unpack(panel.t).values;
      const y = unpack(panel.y), many = this.t.length;
      const rows = panel.names.map((_, k) =>
        Array.from(y.values.subarray(k * many, (k + 1) * many), (x) => Number.isFinite(x) ? x : null));
      const flat = many === 1;
      this.turns = rows.map(turnings);
      this.dense = rows.map(() => false);
      let inks = 0;
      const series = panel.names.map((name, k) => {
        const own = inks;
        const colour = panel.dashed[k] ? COLOURS[1] : COLOURS[inks++ % COLOURS.length];
        return {
          label: name, stroke: () => (this.dense[k] ? colour + BAND : colour), width: 1.25,
          dash: panel.dashed[k] ? [6, 4] : own >= COLOURS.length ? [2 + 2 * (own / COLOURS.length | 0), 3] : undefined,
          points: { show: many <= 40 }, value: () => number(this.valueAt(rows[k], panel.log)),
        };
      });
      const axis = { stroke: "#454c54", font: "11px system-ui, sans-serif", grid: { stroke: "#eef0f2", width: 1 }, ticks: { stroke: "#cdd2d8", width: 1, size: 4 } };
      this.plot = new Plot({
        width: 300, height: 168, padding: [8, 20, 0, 0],
        scales: {
          x: { time: false, range: (_, low, high) => flat ? [low - 0.5, high + 0.5] : [low, high] },
          y: panel.log ? { distr: 3, range: decades(panel.limits ? [panel.limits] : rows) }
            : { range: (plot, low, high) => (panel.limits && view.whole ? panel.limits : room(plot, low, high)) },
        },
        axes: [
          { ...axis, size: 26, label: "t", labelSize: 14, labelGap: -4, labelFont: "11px system-ui, sans-serif", values: (_, ticks) => ticks.map(number) },
          { ...axis, size: 68, label: panel.label, labelSize: 16, labelFont: "11px system-ui, sans-serif",
            values: (_, ticks) => ticks.map((x) => panel.log
              ? (x > 0 && Math.abs(Math.log10(x) - Math.round(Math.log10(x))) < 1e-6 ? x.toExponential(0).replace("-", "−").replace("e+", "e") : "")
              : number(x)) },
        ],
        series: [{ label: "t", value: () => number(view.time) }, ...series],
        cursor: { drag: { x: false, y: false, setScale: false }, bind: { dblclick: () => null },
          y: false, points: { size: 5 } },
      }, [Array.from(this.t), ...rows], this.holder);
      this.cursor = element("div", "cursor");
      this.plot.over.append(this.cursor);
      const over = this.plot.over;
      const under = (event) => this.plot.posToVal(event.clientX - over.getBoundingClientRect().left, "x");
      const point = (event) => { view.pause(); view.seek(under(event)); };
      let chosen = false;  // a page that is scrolled past must not zoom: the wheel works after a click
      over.addEventListener("pointerdown", (event) => {
        over.setPointerCapture(event.pointerId);
        chosen = true;
        point(event);
      });
      over.addEventListener("pointermove", (event) => { if (event.buttons) point(event); });
      over.addEventListener("pointerleave", () => { chosen = false; });
      over.addEventListener("wheel", (event) => {
        if (!chosen) return;
        event.preventDefault();
        view.zoom(Math.exp(-event.deltaY / 300), under(event));
      }, { passive: false });
      over.addEventListener("dblclick", () => view.zoom(0));
      this.resize();
    }

    // What goes up and down more often than there are points across is a band: seen through.
    show(first, last) {
      const from = moment(this.t, first).frame, to = moment(this.t, last).frame;
      const across = this.plot.over.clientWidth || 300;
      this.dense = this.turns.map((count) => count[to] - count[from] > DENSE * across);
      if (this.t.length > 1) this.plot.setScale("x", { min: first, max: last });
    }

    resize() {
      const width = this.holder.clientWidth;
      if (width > 0 && width !== this.plot.width) this.plot.setSize({ width, height: 168 });
    }

    follow(time) {
      const x = this.plot.valToPos(time, "x"), width = this.plot.over.clientWidth;
      this.cursor.hidden = x < -1 || x > width + 1;
      this.cursor.style.transform = `translateX(${x.toFixed(2)}px)`;
      this.plot.setLegend({ idx: 0 }, false);
    }

    // Of a curve at the time of the animation.  A sample on a logarithmic axis is the largest since
    // the one before it.
    valueAt(row, log) {
      const { frame, share } = moment(this.t, this.view.time);
      if (share === 0) return row[frame] ?? NaN;
      if (log) return row[frame + 1] ?? NaN;
      return row[frame] === null || row[frame + 1] === null ? NaN
        : row[frame] + share * (row[frame + 1] - row[frame]);
    }
  }

  // How often a curve has turned up to each of its samples.
  function turnings(row) {
    const found = new Uint32Array(row.length);
    let way = 0;
    for (let k = 1; k < row.length; k++) {
      const step = Math.sign(row[k] - row[k - 1]);
      found[k] = found[k - 1] + (step * way < 0 ? 1 : 0);
      if (step) way = step;
    }
    return found;
  }

  // The decades of a logarithmic axis; a few of the lowest values may lie below it.
  function decades(rows) {
    const values = rows.flatMap((row) => row.filter((x) => x > 0)).sort((a, b) => a - b);
    if (!values.length) return [1e-17, 1e-14];
    const low = values[Math.floor(0.02 * values.length)], high = values[values.length - 1];
    const bottom = Math.floor(Math.log10(low));
    return [10 ** bottom, 10 ** Math.max(Math.ceil(Math.log10(high) + 0.2), bottom + 1)];
  }

  function room(_, low, high) {
    if (low === null || high === null) return [-1, 1];
    const margin = low === high ? Math.abs(low) * 0.1 || 1e-16 : 0.07 * (high - low);
    return [low - margin, high + margin];
  }

  // ---- the whole -------------------------------------------------------------------------------

  class View {
    constructor(root, data) {
      this.root = root;
      this.playing = false;
      this.stale = true;
      if (data.scene) this.stageWith(data.scene);
      this.whole = true;  // whether curves show all of the time
      const zoom = element("div", "zoom"), holder = element("div", "panels");
      root.append(zoom, holder);
      this.curves = data.panels.map((panel) => new Curves(holder, panel, this));
      if (!this.t) this.t = this.curves.length ? this.curves[0].t : new Float64Array([0]);
      this.time = this.t[0];
      const times = this.curves.map((c) => c.t);
      // Closer than a few samples there is nothing to see.
      this.closest = 6 * Math.min(...times.map((t) => (t[t.length - 1] - t[0]) / t.length));
      this.ends = [Math.min(...times.map((t) => t[0])), Math.max(...times.map((t) => t[t.length - 1]))];
      if (this.curves.length) this.zoom(0);
      if (this.ends[1] > this.ends[0]) this.zooming(zoom);
      const again = () => {
        if (this.stage) this.stage.resize();
        this.curves.forEach((c) => c.resize());
        if (this.window) this.curves.forEach((c) => c.show(...this.window));
        this.stale = true;
      };
      new ResizeObserver(again).observe(root);
      again();
      this.seek(this.time);
      root.tabIndex = -1;
      // The only viewer of a page listens everywhere on it.
      const alone = document.querySelectorAll(".taut-view").length === 1;
      (alone ? document : root).addEventListener("keydown", (event) => this.key(event));
      this.last = performance.now();
      const tick = (now) => { this.tick(now); requestAnimationFrame(tick); };
      requestAnimationFrame(tick);
      this.visible = true;  // what is scrolled away rests
      new IntersectionObserver((seen) => { this.visible = seen[seen.length - 1].isIntersecting; })
        .observe(root);
      const calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
      if (this.stage && this.t.length > 1 && root.dataset.autoplay === "yes" && !calm) this.play();
    }

    stageWith(data) {
      const holder = element("div", "stage");
      this.root.append(holder);
      this.t = unpack(data.t).values;
      if (!document.createElement("canvas").getContext("webgl2")) {
        holder.append(element("p", "sorry",
          "This browser has no WebGL, so the animation cannot be drawn. The curves below are complete."));
      } else {
        this.stage = new Stage(holder, data, () => { this.stale = true; });
      }
      this.speed = data.speed;
      this.controls();
    }

    // Curves of what a reader has chosen by its name, wherever it can be chosen.
    choose(name) {
      this.curves.forEach((c) => c.choose(name));
      this.stale = true;
    }

    // Buttons for the time that curves show.
    zooming(holder) {
      holder.append(
        element("span", "", "time shown"),
        button("−", "more time (−)", () => this.zoom(1 / ZOOM)),
        button("+", "less time, more detail (+)", () => this.zoom(ZOOM)),
        button("all", "all of the time (0, or a double click)", () => this.zoom(0)),
      );
    }

    // Show `factor` times less time, so that what is at `around` stays where it is; 0 shows all of it.
    zoom(factor, around = this.time) {
      const [first, last] = this.ends, whole = last - first;
      const [a, b] = this.window || this.ends;
      const span = factor > 0 ? Math.max((b - a) / factor, Math.min(this.closest, whole)) : whole;
      const centre = Math.min(Math.max(around, a), b), share = b > a ? (centre - a) / (b - a) : 0;
      this.look(span >= whole ? first : centre - share * span, Math.min(span, whole));
    }

    // Curves show `span` of time from `start` on, or as near to that as there is a run.
    look(start, span) {
      const [first, last] = this.ends, whole = last - first;
      const begin = Math.min(Math.max(start, first), last - span);
      this.whole = span >= whole;
      this.window = this.whole ? this.ends : [begin, begin + span];
      this.curves.forEach((c) => c.show(...this.window));
      this.stale = true;
    }

    controls() {
      const bar = element("div", "bar");
      const choice = (name, options, chosen, act) => {
        const label = element("label", "", `${name} `), made = element("select");
        for (const [text, value] of options) {
          const option = element("option", "", text);
          option.value = String(value);
          option.selected = value === chosen;
          made.append(option);
        }
        made.addEventListener("change", () => act(made.value));
        label.append(made);
        return label;
      };
      this.button = button("▶", "play (space)", () => (this.playing ? this.pause() : this.play()));
      this.button.classList.add("play");
      this.scrubber = element("input");
      Object.assign(this.scrubber, { type: "range", min: 0, max: 1, step: "any", value: 0 });
      this.scrubber.className = "scrubber";
      this.scrubber.setAttribute("aria-label", "time");
      this.scrubber.disabled = this.t.length < 2;
      this.button.disabled = this.t.length < 2;
      this.scrubber.addEventListener("input", () => {
        const first = this.t[0], last = this.t[this.t.length - 1];
        this.pause();
        this.seek(first + Number(this.scrubber.value) * (last - first));
      });
      this.clock = element("output", "clock");
      const base = this.speed;
      const group = (...parts) => {  // what stays in one line
        const made = element("span", "group");
        made.append(...parts);
        bar.append(made);
        return made;
      };
      bar.append(this.button, this.scrubber, this.clock);
      const choices = group(
        choice("speed", SPEEDS.map((k) => [`${number(+(k * base).toPrecision(3))}×`, k]), 1, (value) => {
          this.speed = Number(value) * base;
          if (this.stage) this.stage.speed = this.speed;
          this.stale = true;
        }),
      );
      if (this.stage && this.stage.items.some((item) => item.kind === "trails")) {
        const given = this.stage.trail, names = Object.entries(TRAILS);
        if (!names.some(([, seconds]) => seconds === given)) names.push([`${number(given)} s`, given]);
        choices.append(choice("trail", names, given, (value) => {
          this.stage.trail = Number(value);
          this.stale = true;
        }));
      }
      if (this.stage) {
        group(
          button("reset", "the first view", () => { this.stage.home(); this.stale = true; }),
          button("picture", "save the picture", () => this.save()),
          button("full screen", "full screen", () => this.root.requestFullscreen && this.root.requestFullscreen()),
        );
      }
      this.root.append(bar);
    }

    key(event) {
      const kind = event.target.tagName;
      if (kind === "SELECT" || (kind === "BUTTON" && event.key === " ")) return;  // their own keys
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      const zoom = { "+": ZOOM, "=": ZOOM, "-": 1 / ZOOM, "0": 0 }[event.key];
      if (event.key === " " && this.button) (this.playing ? this.pause() : this.play());
      else if (step) {
        const frame = moment(this.t, this.time).frame + step;
        this.pause();
        this.seek(this.t[Math.min(Math.max(frame, 0), this.t.length - 1)]);
      } else if (zoom !== undefined && this.curves.length && !event.ctrlKey && !event.metaKey) {
        this.zoom(zoom);
      } else return;
      event.preventDefault();
    }

    play() {
      this.playing = true;
      this.last = performance.now();
      this.button.textContent = "❚❚";
      this.button.title = this.button.ariaLabel = "pause (space)";
    }

    pause() {
      this.playing = false;
      if (!this.button) return;
      this.button.textContent = "▶";
      this.button.title = this.button.ariaLabel = "play (space)";
    }

    seek(time) {
      const first = this.t[0], last = this.t[this.t.length - 1];
      this.time = Math.min(Math.max(time, first), last);
      if (this.scrubber) {
        this.scrubber.value = last > first ? (this.time - first) / (last - first) : 0;
        this.clock.textContent = `t = ${number(this.time)}`;
      }
      if (!this.whole && (this.time < this.window[0] || this.time > this.window[1])) {
        const span = this.window[1] - this.window[0];  // curves turn the page
        this.look(this.time - (this.time < this.window[0] ? 0.95 : 0.05) * span, span);
      }
      this.stale = true;
    }

    tick(now) {
      const passed = Math.min((now - this.last) / 1000, 0.1);
      this.last = now;
      if (!this.visible) return;
      if (this.playing) {
        const first = this.t[0], last = this.t[this.t.length - 1];
        const time = this.time + passed * this.speed;
        this.seek(time >= last ? first : time);
      }
      if (this.stale) {
        if (this.stage) this.stage.draw(this.time);
        this.curves.forEach((c) => c.follow(this.time));
      }
      this.stale = false;
    }

    picture() {
      this.stage.draw(this.time);
      return this.stage.canvas.toDataURL("image/png");
    }

    save() {
      const link = element("a");
      link.href = this.picture();
      link.download = "taut.png";
      link.click();
    }
  }

  for (const root of document.querySelectorAll(".taut-view")) {
    const data = JSON.parse(document.getElementById(root.dataset.source).textContent);
    tautViews.push(new View(root, data));
  }
})();
